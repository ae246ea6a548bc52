// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <mpi.h>

#include "plait/replay/backend/remote_memory.hpp"

namespace plait::replay {

/// Memory that is registered with libfabric, where plait is built with it, in the first provider that can do remote
/// writes; the environment variable FI_PROVIDER narrows the choice. A write is complete when it is in the memory
/// (`FI_DELIVERY_COMPLETE`). Threads: any.
///
/// Providers without hardware of their own (tcp, shm) move a write only while the receiver looks, too.
class OfiMemory final : public RemoteMemory {
 public:
  /// So many bytes on this rank. Collective over `world`, which is borrowed for as long as this is there. Throws: on
  /// all ranks `Error` with `bad_argument` when no provider is there.
  OfiMemory(MPI_Comm world, std::size_t bytes);
  OfiMemory(const OfiMemory&) = delete;
  OfiMemory& operator=(const OfiMemory&) = delete;
  OfiMemory(OfiMemory&&) = delete;
  OfiMemory& operator=(OfiMemory&&) = delete;
  ~OfiMemory() override;

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string write_name() const override { return "fi_writemsg"; }
  [[nodiscard]] std::span<std::byte> local() override;
  void write(Rank to, std::uint64_t at, std::span<const std::byte> data) override;
  void push(Rank /*to*/) override {}  // libfabric keeps nothing back
  void complete(Rank to) override;
  void look() override;
  [[nodiscard]] bool moves_inside_mpi() const override { return false; }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plait::replay
