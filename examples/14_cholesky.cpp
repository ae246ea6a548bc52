// SPDX-License-Identifier: Apache-2.0
// ranks: 4
// The Cholesky factor of a matrix in tiles, as a sequential program of four kinds of tasks. Every rank submits all
// tasks; messages follow from the tiles that tasks access. examples/c and examples/fortran have the same program.
#include <array>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <span>
#include <vector>

#include "plait/plait.hpp"

namespace {

constexpr std::size_t b = 24;       ///< Rows and columns of a tile.
constexpr std::uint32_t tiles = 6;  ///< In each direction.
constexpr std::size_t n = tiles * b;

using Tile = std::span<double>;
using ConstTile = std::span<const double>;

double element(std::size_t row, std::size_t column) {
  const auto distance = static_cast<double>(row > column ? row - column : column - row);
  return row == column ? 3.0 : 1.0 / (1.0 + distance * distance);
}

/// A tile on the diagonal: its factor, by columns.
void factorise(Tile a) {
  for (std::size_t k = 0; k < b; ++k) {
    a[k * b + k] = std::sqrt(a[k * b + k]);
    for (std::size_t i = k + 1; i < b; ++i) {
      a[i * b + k] /= a[k * b + k];
    }
    for (std::size_t j = k + 1; j < b; ++j) {
      for (std::size_t i = j; i < b; ++i) {
        a[i * b + j] -= a[i * b + k] * a[j * b + k];
      }
    }
  }
}

/// A tile below it: x with x * l^T = a, in place.
void solve(ConstTile l, Tile a) {
  for (std::size_t i = 0; i < b; ++i) {
    for (std::size_t j = 0; j < b; ++j) {
      for (std::size_t k = 0; k < j; ++k) {
        a[i * b + j] -= a[i * b + k] * l[j * b + k];
      }
      a[i * b + j] /= l[j * b + j];
    }
  }
}

/// c -= left * right^T.
void update(ConstTile left, ConstTile right, Tile c) {
  for (std::size_t i = 0; i < b; ++i) {
    for (std::size_t j = 0; j < b; ++j) {
      for (std::size_t k = 0; k < b; ++k) {
        c[i * b + j] -= left[i * b + k] * right[j * b + k];
      }
    }
  }
}

void update_diagonal(ConstTile left, Tile c) {
  update(left, left, c);
}

/// The factor of the whole matrix, by one rank.
std::vector<double> sequential_factor() {
  std::vector<double> l(n * n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = element(i, j);
      for (std::size_t k = 0; k < j; ++k) {
        sum -= l[i * n + k] * l[j * n + k];
      }
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
  }
  return l;
}

/// Of the lower triangle, the elements of this rank's tiles that differ from the sequential factor by more than
/// rounding.
std::size_t count_different(const plait::DataGrid<double>& a) {
  const std::vector<double> l = sequential_factor();
  std::size_t count = 0;
  for (std::uint32_t row = 0; row < tiles; ++row) {
    for (std::uint32_t column = 0; column <= row; ++column) {
      if (!a.is_local(row, column)) {
        continue;
      }
      const Tile tile = a.local(row, column);
      for (std::size_t i = 0; i < b * b; ++i) {
        const std::size_t at_row = row * b + i / b;
        const std::size_t at_column = column * b + i % b;
        count += at_column <= at_row && std::abs(tile[i] - l[at_row * n + at_column]) > 1e-12 ? 1 : 0;
      }
    }
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  plait::Flow flow{runtime};
  const plait::DataGrid<double> a{flow, "A", {tiles, tiles}, b * b, plait::BlockCyclic{.rows = 2, .columns = 2}};
  for (std::uint32_t row = 0; row < tiles; ++row) {
    for (std::uint32_t column = 0; column <= row; ++column) {
      flow.submit(
          [row, column](Tile tile) {
            for (std::size_t i = 0; i < b * b; ++i) {
              tile[i] = element(row * b + i / b, column * b + i % b);
            }
          },
          w(a(row, column)));
    }
  }

  for (std::uint32_t k = 0; k < tiles; ++k) {
    flow.submit(factorise, rw(a(k, k)));
    for (std::uint32_t row = k + 1; row < tiles; ++row) {
      flow.submit(solve, r(a(k, k)), rw(a(row, k)));
    }
    for (std::uint32_t row = k + 1; row < tiles; ++row) {
      flow.submit(update_diagonal, r(a(row, k)), rw(a(row, row)));
      for (std::uint32_t column = k + 1; column < row; ++column) {
        flow.submit(update, r(a(row, k)), r(a(column, k)), rw(a(row, column)));
      }
    }
  }
  flow.wait();

  std::array<std::size_t, 1> different{count_different(a)};
  plait::all_reduce(plait::Group{runtime.messages()}, std::span{different}).wait();
  if (runtime.self() == plait::Rank{0}) {
    std::cout << n << " x " << n << " elements in " << tiles << " x " << tiles << " tiles: " << different[0]
              << " differ from the sequential factor\n";
  }
}
