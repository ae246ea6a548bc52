// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "plait/base/id.hpp"

namespace plait::task {

/// Returns the rank that owns the piece in `row` and `column` of a grid of data. Must be the same on every rank.
using Distribution = std::function<Rank(std::uint32_t row, std::uint32_t column)>;

/// The two-dimensional block-cyclic distribution of ScaLAPACK: the ranks form a grid in row-major order, which is
/// repeated over the pieces.
struct BlockCyclic {
  std::uint32_t rows = 1;  ///< Of the grid of ranks.
  std::uint32_t columns = 1;

  [[nodiscard]] Rank operator()(std::uint32_t row, std::uint32_t column) const noexcept {
    return Rank{row % rows * columns + column % columns};
  }

  /// Returns the grid of `rank_count` ranks nearest to a square, with at most as many rows as columns.
  [[nodiscard]] static BlockCyclic square(std::uint32_t rank_count) noexcept {
    BlockCyclic grid{.rows = 1, .columns = rank_count};
    for (std::uint32_t rows = 1; rows * rows <= rank_count; ++rows) {
      if (rank_count % rows == 0) {
        grid = {.rows = rows, .columns = rank_count / rows};
      }
    }
    return grid;
  }
};

}  // namespace plait::task
