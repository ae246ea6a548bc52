// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "cholesky/layout.hpp"

namespace cholesky::test {

/// A whole matrix in one piece, column after column.
struct Dense {
  explicit Dense(std::size_t row_count) : Dense{row_count, row_count} {}
  Dense(std::size_t row_count, std::size_t column_count)
      : rows{row_count}, columns{column_count}, data(row_count * column_count) {}

  [[nodiscard]] double& at(std::size_t row, std::size_t column) { return data[row + column * rows]; }
  [[nodiscard]] double at(std::size_t row, std::size_t column) const { return data[row + column * rows]; }
  [[nodiscard]] Tile tile() { return {data.data(), rows, columns}; }

  std::size_t rows;
  std::size_t columns;
  std::vector<double> data;
};

/// Numbers without a pattern, the same each time.
inline Dense some_matrix(std::size_t rows, std::size_t columns, double diagonal = 0) {
  Dense result{rows, columns};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      result.at(i, j) = std::sin(static_cast<double>(3 * i + 7 * j * j + i * j)) + (i == j ? diagonal : 0);
    }
  }
  return result;
}

inline Dense symmetric_matrix(std::size_t rows, double diagonal) {
  Dense result = some_matrix(rows, rows, diagonal);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = i + 1; j < rows; ++j) {
      result.at(i, j) = result.at(j, i);
    }
  }
  return result;
}

enum class Form { as_it_is, transposed };

/// left right, or left right^T, the slow way.
inline Dense product(const Dense& left, const Dense& right, Form form = Form::as_it_is) {
  const bool is_transposed = form == Form::transposed;
  Dense result{left.rows, is_transposed ? right.rows : right.columns};
  for (std::size_t i = 0; i < result.rows; ++i) {
    for (std::size_t j = 0; j < result.columns; ++j) {
      for (std::size_t k = 0; k < left.columns; ++k) {
        result.at(i, j) += left.at(i, k) * (is_transposed ? right.at(j, k) : right.at(k, j));
      }
    }
  }
  return result;
}

inline Dense difference(Dense left, const Dense& right) {
  for (std::size_t i = 0; i < left.data.size(); ++i) {
    left.data[i] -= right.data[i];
  }
  return left;
}

/// The largest number of all.
inline double largest(const Dense& matrix) {
  double result = 0;
  for (const double number : matrix.data) {
    result = std::isnan(number) ? number : std::max(result, std::abs(number));
  }
  return result;
}

/// What is on and below the diagonal.
inline Dense lower_of(Dense matrix) {
  for (std::size_t j = 0; j < matrix.columns; ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      matrix.at(i, j) = 0;
    }
  }
  return matrix;
}

/// What is below the diagonal, and ones on it.
inline Dense unit_lower_of(Dense matrix) {
  matrix = lower_of(std::move(matrix));
  for (std::size_t i = 0; i < matrix.columns; ++i) {
    matrix.at(i, i) = 1;
  }
  return matrix;
}

/// What is on and above the diagonal.
inline Dense upper_of(Dense matrix) {
  for (std::size_t j = 0; j < matrix.columns; ++j) {
    for (std::size_t i = j + 1; i < matrix.rows; ++i) {
      matrix.at(i, j) = 0;
    }
  }
  return matrix;
}

}  // namespace cholesky::test
