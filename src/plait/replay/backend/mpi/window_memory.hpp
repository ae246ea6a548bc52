// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <mpi.h>

#include "plait/replay/backend/remote_memory.hpp"

namespace plait::replay {

/// Memory that MPI allocates as a window; all ranks hold a shared lock on all others from beginning to end.
class WindowMemory final : public RemoteMemory {
 public:
  /// So many bytes on this rank. Collective over `world`, which is borrowed for the call.
  /// Throws: on all ranks `Error` with `network`, which says what to do, where MPI can make no window.
  WindowMemory(MPI_Comm world, std::size_t bytes);
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;
  WindowMemory(WindowMemory&&) = delete;
  WindowMemory& operator=(WindowMemory&&) = delete;
  /// Frees nothing while an exception leaves the scope: that would wait for ranks that wait for this one.
  ~WindowMemory() override;

  [[nodiscard]] std::string name() const override { return "rma (MPI)"; }
  [[nodiscard]] std::string write_name() const override { return "MPI_Put"; }
  [[nodiscard]] std::span<std::byte> local() override { return memory_; }
  void write(Rank to, std::uint64_t at, std::span<const std::byte> data) override;
  void push(Rank to) override;
  void complete(Rank to) override;
  void look() override;

 private:
  int exceptions_at_start_ = 0;
  MPI_Comm ranks_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<std::byte> memory_;
};

}  // namespace plait::replay
