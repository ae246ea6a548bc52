// SPDX-License-Identifier: Apache-2.0
#include "alltoall/grid.hpp"

namespace alltoall {

const char* to_string(Direction direction) noexcept {
  return direction == Direction::row ? "row" : "column";
}

GridShape squarest(int ranks) {
  GridShape shape{1, ranks};
  for (int rows = 1; rows * rows <= ranks; ++rows) {
    if (ranks % rows == 0) {
      shape = {rows, ranks / rows};
    }
  }
  return shape;
}

Group::Group(MPI_Comm world, Direction direction, int color) : world_{world}, direction_{direction} {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_split(world, color, rank, &comm_);
  int self = 0;
  int size = 0;
  MPI_Comm_rank(comm_, &self);
  MPI_Comm_size(comm_, &size);
  self_ = static_cast<std::size_t>(self);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  MPI_Allgather(&rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, comm_);
  for (const int one : ranks) {
    world_ranks_.emplace_back(static_cast<std::uint32_t>(one));
  }
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, self, MPI_INFO_NULL, &node);
  int on_node = 0;
  MPI_Comm_size(node, &on_node);
  MPI_Comm_free(&node);
  on_node_ = static_cast<std::size_t>(on_node);
}

Group::~Group() {
  MPI_Comm_free(&comm_);
}

}  // namespace alltoall
