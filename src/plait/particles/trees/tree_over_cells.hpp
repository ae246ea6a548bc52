// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/particles/store/cell_sizes.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {

/// The motion of particles since the time of the positions in their store.
struct Drift {
  Field<Vector> velocity;
  double duration = 0;
};

/// Builds trees whose lower levels are given cells, so that particles keep the order of their cells: `assign`, then
/// `refresh_batch` for each batch, then `refresh_top`; the last two again at later times. Keeps its memory.
class TreeOverCells {
 public:
  /// Borrows `tree`.
  explicit TreeOverCells(Tree& tree) : tree_{&tree} {}

  /// Takes the structure from `sizes`, which divide all particles of `store`: each cell is a batch, each of its groups
  /// a group. Borrows `store`. Moments are undefined until `refresh_top`. Cost: O(n).
  void assign(Particles& store, const TreeOptions& options, const CellSizes& sizes);
  /// Recomputes the nodes of a batch from predicted positions. Threads: concurrent for different batches.
  void refresh_batch(std::uint32_t batch, const Drift& drift);
  /// Once: recomputes the nodes above the batches. Cost: O(batches).
  void refresh_top();

 private:
  class Structure;

  /// The nodes of a batch: its root, and all below it.
  struct BatchNodes {
    std::uint32_t root = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };

  Tree* tree_;
  std::vector<BatchNodes> of_batches_;
  std::vector<std::uint32_t> top_;  ///< The nodes above the batches, ascending.
};

}  // namespace plait::particles
