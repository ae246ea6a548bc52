// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpi.h>

#include "plait/base/id.hpp"

namespace alltoall {

enum class Direction : std::uint8_t { row, column };
inline constexpr std::array directions{Direction::row, Direction::column};
[[nodiscard]] const char* to_string(Direction direction) noexcept;

struct GridShape {
  int rows = 1;
  int columns = 1;
};

/// As square as the number of ranks allows, with rows at least as long as columns: 1 x 2, 2 x 2, 2 x 3.
[[nodiscard]] GridShape squarest(int ranks);

/// The ranks of one row or column, among which an all-to-all runs. Owns its communicator.
class Group {
 public:
  /// Collective over the ranks of `world`, which must live as long; those of one `color`, counted from 0, make a group.
  Group(MPI_Comm world, Direction direction, int color);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  Group(Group&&) = delete;
  Group& operator=(Group&&) = delete;
  ~Group();

  [[nodiscard]] MPI_Comm world() const noexcept { return world_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] Direction direction() const noexcept { return direction_; }
  [[nodiscard]] std::size_t self() const noexcept { return self_; }
  [[nodiscard]] std::size_t size() const noexcept { return world_ranks_.size(); }
  /// Of each rank of the group, its rank in the world.
  [[nodiscard]] const std::vector<plait::Rank>& world_ranks() const noexcept { return world_ranks_; }
  /// How many of the group share this rank's node, as MPI sees it.
  [[nodiscard]] std::size_t on_node() const noexcept { return on_node_; }
  [[nodiscard]] bool is_on_one_node() const noexcept { return on_node_ == size(); }

 private:
  MPI_Comm world_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  Direction direction_;
  std::size_t self_ = 0;
  std::size_t on_node_ = 0;
  std::vector<plait::Rank> world_ranks_;
};

}  // namespace alltoall
