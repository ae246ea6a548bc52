// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <mpi.h>

namespace plait::net {

/// Calls `make` in one group of ranks after the other. Open MPI 4 names the files behind windows by the number of the
/// communicator, which is the same in groups that do not meet: made at once, their windows get each other's.
///
/// Collective over `world`, each rank with the communicator of its own group; `make` throws nothing. Cost: a barrier of
/// all ranks for each group. Threads: one.
void in_turn(MPI_Comm world, MPI_Comm group, const std::function<void()>& make);

/// A window of MPI's one-sided communication in passive mode, open to all ranks of a group for as long as it lives:
/// what other ranks of the group fetch from. Threads: one.
class Window {
 public:
  enum class Kind : std::uint8_t {
    fetched,  ///< Read by `get`.
    shared,   ///< Read in place, through `memory_of`: all ranks of the group are on one node.
  };

  /// Collective over `world`, each rank with the communicator of its own group; both must live as long.
  /// Throws: `Error` with `network` on every rank when MPI cannot make it in one of the groups, with the reason.
  Window(MPI_Comm world, MPI_Comm group, std::size_t bytes, Kind kind = Kind::fetched);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  /// Collective over the group.
  ~Window();

  /// This rank's part.
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
  /// Where the part of `rank` begins in this process. Of a shared window only.
  [[nodiscard]] const std::byte* memory_of(std::size_t rank) const { return shared_[rank]; }
  /// Starts to fetch `into.size()` bytes at `offset` in the memory of `rank`; a plain copy from this rank.
  void get(std::span<std::byte> into, std::size_t rank, std::size_t offset) const;
  /// Returns when what was fetched is there.
  void flush() const;
  /// Makes what every rank has written into its own memory visible to all, and waits for all.
  void synchronise() const;

 private:
  MPI_Comm group_;
  std::size_t self_ = 0;
  std::span<std::byte> memory_;
  std::vector<const std::byte*> shared_;
  MPI_Win window_ = MPI_WIN_NULL;
};

/// The members of a group of `size` in an order at random, another for each `self`, the same in each run.
[[nodiscard]] std::vector<std::size_t> random_order(std::size_t size, std::size_t self);

}  // namespace plait::net
