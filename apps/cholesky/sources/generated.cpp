// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plait/base/random.hpp"

#include "cholesky/sources/matrix_source.hpp"

namespace cholesky {

namespace {

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

}  // namespace cholesky
