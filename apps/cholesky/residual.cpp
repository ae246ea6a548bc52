// SPDX-License-Identifier: Apache-2.0
#include "cholesky/residual.hpp"

#include <cblas.h>
#include <cmath>
#include <limits>

#include "plait/base/random.hpp"

namespace cholesky {

namespace {

constexpr int vector_count = 8;
/// Arbitrary: the vectors do not depend on the matrix.
constexpr std::uint64_t seed = 20;

enum class Form { as_it_is, transposed };

/// The rows of the vectors that belong to tile row `index`: a row's numbers are contiguous.
auto* piece(auto& vectors, const Layout& layout, std::size_t index) {
  return vectors.data() + layout.first(index) * vector_count;
}

/// to = to + factor a from, or with a^T.
void add_product(double factor, ConstTile a, Form form, const double* from, double* to) {
  const bool is_transposed = form == Form::transposed;
  const auto rows = static_cast<int>(is_transposed ? a.columns : a.rows);
  const auto inner = static_cast<int>(is_transposed ? a.rows : a.columns);
  // The tile is stored by columns, so by rows it is its own transpose.
  cblas_dgemm(CblasRowMajor,
              is_transposed ? CblasNoTrans : CblasTrans,
              CblasNoTrans,
              rows,
              vector_count,
              inner,
              factor,
              a.data,
              static_cast<int>(a.rows),
              from,
              vector_count,
              1,
              to,
              vector_count);
}

enum class TriangleKind { lower, unit_lower, upper };

/// A tile of a factor; of a tile on the diagonal a copy of the triangle that belongs to the factor, and zeros.
class FactorTile {
 public:
  FactorTile(const PlacedTile& placed, TriangleKind which) : tile_(placed.tile) {
    if (placed.row != placed.column) {
      return;
    }
    copy_.resize(tile_.rows * tile_.columns);
    for (std::size_t column = 0; column < tile_.columns; ++column) {
      for (std::size_t row = 0; row < tile_.rows; ++row) {
        const bool is_inside = which == TriangleKind::upper ? row <= column : row >= column;
        const bool is_one = which == TriangleKind::unit_lower && row == column;
        copy_[row + column * tile_.rows] = is_one ? 1 : (is_inside ? tile_.at(row, column) : 0);
      }
    }
    tile_.data = copy_.data();
  }
  FactorTile(const FactorTile&) = delete;
  FactorTile& operator=(const FactorTile&) = delete;

  [[nodiscard]] const ConstTile& tile() const { return tile_; }

 private:
  ConstTile tile_;
  std::vector<double> copy_;
};

double square(std::span<const double> numbers) {
  double sum = 0;
  for (const double number : numbers) {
    sum += number * number;
  }
  return sum;
}

}  // namespace

Residual::Residual(const Layout& layout, Factors factors, const plait::Group& group)
    : layout_{layout}, factors_{factors}, group_{group}, products_(layout.size() * vector_count) {
  plait::Random random{seed};
  start_.reserve(products_.size());
  for (std::size_t index = 0; index < products_.size(); ++index) {
    start_.push_back(random.happens(0.5) ? 1 : -1);
  }
}

void Residual::see_matrix(std::span<const PlacedTile> tiles) {
  for (const auto& [row, column, tile] : tiles) {
    const double part = square({tile.data, tile.rows * tile.columns});
    norm_squared_ += part;
    add_product(1, tile, Form::as_it_is, piece(start_, layout_, column), piece(products_, layout_, row));
    if (factors_ == Factors::symmetric && row != column) {
      norm_squared_ += part;
      add_product(1, tile, Form::transposed, piece(start_, layout_, row), piece(products_, layout_, column));
    }
  }
}

Residual::Vectors Residual::after_right_factor(std::span<const PlacedTile> tiles) {
  Vectors result(products_.size());
  for (const PlacedTile& placed : tiles) {
    const auto& [row, column, tile] = placed;
    if (factors_ == Factors::symmetric) {
      const FactorTile l{placed, TriangleKind::lower};
      add_product(1, l.tile(), Form::transposed, piece(start_, layout_, row), piece(result, layout_, column));
    } else if (row <= column) {
      const FactorTile u{placed, TriangleKind::upper};
      add_product(1, u.tile(), Form::as_it_is, piece(start_, layout_, column), piece(result, layout_, row));
    }
  }
  return result;
}

void Residual::subtract_left_factor(std::span<const PlacedTile> tiles, const Vectors& right) {
  for (const PlacedTile& placed : tiles) {
    const auto& [row, column, tile] = placed;
    if (row >= column) {
      const FactorTile l{placed, factors_ == Factors::symmetric ? TriangleKind::lower : TriangleKind::unit_lower};
      add_product(-1, l.tile(), Form::as_it_is, piece(right, layout_, column), piece(products_, layout_, row));
    }
  }
}

double Residual::see_factors(std::span<const PlacedTile> tiles) {
  Vectors right = after_right_factor(tiles);
  plait::all_reduce(group_, std::span{right}).wait();
  subtract_left_factor(tiles, right);
  plait::all_reduce(group_, std::span{products_}).wait();
  plait::all_reduce(group_, std::span{&norm_squared_, 1}).wait();
  const double difference = std::sqrt(square(products_) / vector_count);
  const double unit = static_cast<double>(layout_.size()) * std::numeric_limits<double>::epsilon();
  return difference / (std::sqrt(norm_squared_) * unit);
}

}  // namespace cholesky
