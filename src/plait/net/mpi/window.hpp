// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <mpi.h>

namespace plait::net {

/// Calls `make` in one group of ranks after the other. Open MPI 4 names the files of windows by the number of the
/// communicator, which disjoint groups share: windows that they create at once get the same file.
///
/// Collective over `world`, each rank with the communicator of its own group. `make` throws nothing. Cost: a barrier of
/// all ranks for each group. Threads: one.
void in_turn(MPI_Comm world, MPI_Comm group, const std::function<void()>& make);

/// A window for MPI's one-sided communication, locked by all ranks of a group while it lives. Threads: one.
class Window {
 public:
  enum class Kind : std::uint8_t {
    fetched,  ///< Read by `get`.
    shared,   ///< Read in place, through `memory_of`: all ranks of the group are on one node.
  };

  /// Collective over `world`, each rank with the communicator of its own group; both must live as long.
  /// Throws: `Error` with `network` and the reason on every rank when MPI cannot create it in one of the groups.
  Window(MPI_Comm world, MPI_Comm group, std::size_t bytes, Kind kind = Kind::fetched);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  /// Collective over the group.
  ~Window();

  /// This rank's part.
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
  /// The part of `rank` in this process; of a shared window only.
  [[nodiscard]] const std::byte* memory_of(std::size_t rank) const { return shared_[rank]; }
  /// Starts to fetch `into.size()` bytes at `offset` of the part of `rank`; copies from this rank's own part.
  void get(std::span<std::byte> into, std::size_t rank, std::size_t offset) const;
  /// Waits until everything is fetched.
  void flush() const;
  /// Waits for all ranks, and makes visible what each has written into its own part.
  void synchronise() const;

 private:
  MPI_Comm group_;
  std::size_t self_ = 0;
  std::span<std::byte> memory_;
  std::vector<const std::byte*> shared_;
  MPI_Win window_ = MPI_WIN_NULL;
};

/// Returns the members of a group of `size` in a random order, which depends on `self` only.
[[nodiscard]] std::vector<std::size_t> random_order(std::size_t size, std::size_t self);

}  // namespace plait::net
