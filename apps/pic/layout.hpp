// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pic/grid.hpp"

namespace pic {

/// How the grid is divided for the solver and for the particles.
template <int D>
struct Layout {
  Division<D> blocks;   ///< Of the solver: part p is rank p's.
  Division<D> patches;  ///< Each block divided into equal numbers.

  /// Throws: `plait::Error` when there are too few cells.
  Layout(const Grid<D>& grid, int ranks, int patches_per_rank);
  /// The rank whose block has that patch.
  [[nodiscard]] int rank_of(std::int32_t patch) const;
};

}  // namespace pic
