// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "plait/base/id.hpp"

namespace plait::replay {

/// Memory of each rank into which all ranks write, without participation of the owner.
///
/// Threads: as the library below was initialised. Progress: in the calls. Throws: `Error` with `network`.
class RemoteMemory {
 public:
  RemoteMemory() = default;
  RemoteMemory(const RemoteMemory&) = delete;
  RemoteMemory& operator=(const RemoteMemory&) = delete;
  /// Collective. Expects: no write is in flight.
  virtual ~RemoteMemory() = default;

  /// For output: "rma (MPI)".
  [[nodiscard]] virtual std::string name() const = 0;
  /// The name of the function that `write` calls.
  [[nodiscard]] virtual std::string write_name() const = 0;

  /// This rank's memory; initially zero.
  [[nodiscard]] virtual std::span<std::byte> local() = 0;
  /// Starts a write to offset `at` in the memory of `to`. `data` must stay valid until `complete(to)` returns. Writes
  /// may arrive in any order.
  virtual void write(Rank to, std::uint64_t at, std::span<const std::byte> data) = 0;
  /// Sends writes to `to` that `write` may have delayed.
  virtual void push(Rank to) = 0;
  /// Waits until all earlier writes to `to` are in its memory.
  virtual void complete(Rank to) = 0;
  /// Makes progress. Later reads of `local()` return nothing older than earlier ones.
  virtual void poll() = 0;
  /// False if writes of others may not progress while this rank is in a call of MPI.
  [[nodiscard]] virtual bool moves_inside_mpi() const { return true; }
};

}  // namespace plait::replay
