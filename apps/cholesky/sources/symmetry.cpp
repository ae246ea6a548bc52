// SPDX-License-Identifier: Apache-2.0
#include "cholesky/sources/symmetry.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace cholesky {

namespace {

/// Of what the larger of the two is: matrices that were computed are symmetric but for rounding.
constexpr double difference_max = 1e-12;

}  // namespace

void expect_symmetric(const std::string& file, const Layout& layout, const PlacedTile& placed, ConstTile mirror) {
  for (std::size_t column = 0; column < mirror.columns; ++column) {
    for (std::size_t row = 0; row < mirror.rows; ++row) {
      const double here = placed.tile.at(row, column);
      const double there = mirror.at(row, column);
      if (std::abs(here - there) > difference_max * std::max(std::abs(here), std::abs(there))) {
        const std::size_t i = layout.first(placed.row) + row + 1;
        const std::size_t j = layout.first(placed.column) + column + 1;
        throw plait::Error{plait::ErrorCode::bad_input,
                           fmt::format("{}: the matrix is not symmetric: ({}, {}) is {} and ({}, {}) is {} (counted "
                                       "from 1); factor it with --lu",
                                       file,
                                       i,
                                       j,
                                       here,
                                       j,
                                       i,
                                       there)};
      }
    }
  }
}

}  // namespace cholesky
