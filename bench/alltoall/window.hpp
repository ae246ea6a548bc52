// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "alltoall/grid.hpp"

namespace alltoall {

/// A window of MPI-3 one-sided communication in passive mode, open to all ranks of a group for as long as it lives.
class Window {
 public:
  /// Collective over the world. Throws: `Unavailable` where MPI cannot make one.
  Window(const Group& group, std::size_t bytes);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  Window(Window&&) = delete;
  Window& operator=(Window&&) = delete;
  ~Window();

  /// What other ranks fetch from.
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
  /// Starts to fetch `into.size()` bytes that stand at `offset` in the memory of `rank`; a plain copy from this rank.
  void get(std::span<std::byte> into, std::size_t rank, std::size_t offset) const;
  /// Returns when what was fetched is there.
  void flush() const { MPI_Win_flush_all(window_); }
  /// Makes what every rank has written into its own memory visible to all, and waits for all: the seed's `sync all`.
  void synchronise() const;

 private:
  const Group& group_;
  std::span<std::byte> memory_;
  MPI_Win window_ = MPI_WIN_NULL;
};

/// The ranks of a group in an order at random, another on each rank, the same in each run.
[[nodiscard]] std::vector<std::size_t> random_order(const Group& group);

}  // namespace alltoall
