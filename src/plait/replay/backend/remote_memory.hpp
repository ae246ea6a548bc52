// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "plait/base/id.hpp"

namespace plait::replay {

/// Memory of each rank that all ranks write into, without the owner's help.
///
/// Threads: as the means was initialised. Progress: inside the calls. Throws: `Error` with `network`.
class RemoteMemory {
 public:
  RemoteMemory() = default;
  RemoteMemory(const RemoteMemory&) = delete;
  RemoteMemory& operator=(const RemoteMemory&) = delete;
  /// Collective, when nothing is under way.
  virtual ~RemoteMemory() = default;

  /// For people: "rma (MPI)".
  [[nodiscard]] virtual std::string name() const = 0;
  /// The function that `write` calls.
  [[nodiscard]] virtual std::string write_name() const = 0;

  /// This rank's; all zero at first.
  [[nodiscard]] virtual std::span<std::byte> local() = 0;
  /// Begins to write into the memory of `to`, `at` bytes from its beginning. `data` stays until `complete(to)` has
  /// returned. Two writes may arrive in any order.
  virtual void write(Rank to, std::uint64_t at, std::span<const std::byte> data) = 0;
  /// What was written to `to` goes on its way now, where `write` may have kept it for later.
  virtual void push(Rank to) = 0;
  /// Until all that was written to `to` before is in its memory.
  virtual void complete(Rank to) = 0;
  /// Makes progress. What is read from `local()` afterwards is no older than what was read before.
  virtual void poll() = 0;
  /// False when others' writes may are still while this rank is inside a call of MPI.
  [[nodiscard]] virtual bool moves_inside_mpi() const { return true; }
};

}  // namespace plait::replay
