// SPDX-License-Identifier: Apache-2.0
#include "cholesky/sources/matrix_source.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plait/base/random.hpp"

namespace cholesky {

namespace {

/// Relative to the larger of two entries: computed matrices are symmetric except for rounding.
constexpr double difference_max = 1e-12;

class Generated final : public MatrixSource {
 public:
  Generated(std::size_t size, std::uint64_t seed, double diagonal)
      : size_{size}, diagonal_{diagonal}, seed_{plait::Random{seed}()} {}

  [[nodiscard]] std::size_t size() const override { return size_; }

  void fill(const Layout& layout, Part part, std::span<const PlacedTile> tiles) override {
    for (const PlacedTile& placed : tiles) {
      const std::size_t first_row = layout.first(placed.row);
      const std::size_t first_column = layout.first(placed.column);
      for (std::size_t column = 0; column < placed.tile.columns; ++column) {
        for (std::size_t row = 0; row < placed.tile.rows; ++row) {
          placed.tile.at(row, column) = element(first_row + row, first_column + column, part);
        }
      }
    }
  }

 private:
  [[nodiscard]] double element(std::size_t row, std::size_t column, Part part) const {
    if (part == Part::lower && row < column) {
      std::swap(row, column);
    }
    plait::Random random{seed_ ^ (row * size_ + column)};
    return random.unit() - 0.5 + (row == column ? diagonal_ : 0);
  }

  std::size_t size_;
  double diagonal_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<MatrixSource> generate(std::size_t size, std::uint64_t seed, double diagonal) {
  return std::make_unique<Generated>(size, seed, diagonal);
}

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
