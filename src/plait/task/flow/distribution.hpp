// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <ranges>

#include "plait/base/id.hpp"

namespace plait::task {

/// Returns the rank that owns the piece in `row` and `column` of a grid of data. Must be the same on every rank.
using Distribution = std::function<Rank(std::uint32_t row, std::uint32_t column)>;

namespace detail {

/// Returns the numbers from `first` on and below `end` that are `remainder` modulo `step`.
[[nodiscard]] inline auto every(std::uint32_t step, std::uint32_t remainder, std::uint32_t first, std::uint32_t end) {
  const std::uint32_t start = first + (remainder + step - first % step) % step;
  const std::uint32_t count = start < end ? (end - start + step - 1) / step : 0;
  return std::views::iota(0U, count) | std::views::transform([=](std::uint32_t at) { return start + at * step; });
}

}  // namespace detail

/// The two-dimensional block-cyclic distribution of ScaLAPACK: the ranks form a grid in row-major order, which is
/// repeated over the pieces.
struct BlockCyclic {
  std::uint32_t rows = 1;  ///< Of the grid of ranks.
  std::uint32_t columns = 1;

  [[nodiscard]] Rank operator()(std::uint32_t row, std::uint32_t column) const noexcept {
    return Rank{row % rows * columns + column % columns};
  }

  /// Returns the rows of pieces, from `first` on and below `end`, in which `rank` owns pieces. Each has pieces of it in
  /// the `columns_of` the rank. Expects: the rank is in the grid.
  [[nodiscard]] auto rows_of(Rank rank, std::uint32_t first, std::uint32_t end) const {
    return detail::every(rows, rank.value() / columns, first, end);
  }
  [[nodiscard]] auto columns_of(Rank rank, std::uint32_t first, std::uint32_t end) const {
    return detail::every(columns, rank.value() % columns, first, end);
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
