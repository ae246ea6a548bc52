// SPDX-License-Identifier: Apache-2.0
#include "cholesky/residual.hpp"

#include <cmath>
#include <limits>
#include <mutex>

#include <gtest/gtest.h>

#include "plait/testing/run_program.hpp"

#include "cholesky/dense.hpp"
#include "cholesky/kernels/kernels.hpp"

namespace cholesky::residual_test {
namespace {

using namespace test;

struct Case {
  Factors factors = Factors::symmetric;
  std::size_t tile = 7;
  ProcessGrid grid;
};

void take(const Layout& layout, const Dense& matrix, const LocalTiles& local) {
  for (const PlacedTile& placed : local.tiles()) {
    for (std::size_t column = 0; column < placed.tile.columns; ++column) {
      for (std::size_t row = 0; row < placed.tile.rows; ++row) {
        placed.tile.at(row, column) = matrix.at(layout.first(placed.row) + row, layout.first(placed.column) + column);
      }
    }
  }
}

/// The residual of these factors on the ranks of a loopback network.
double residual_of(const Dense& matrix, const Dense& factors, const Case& what) {
  double answer = -1;
  std::mutex mutex;
  plait::test::run_program({.ranks = what.grid.rows * what.grid.columns}, {}, [&](plait::Runtime& runtime) {
    const Layout layout{matrix.rows, what.tile, what.grid};
    const plait::Group all{runtime.messages(), plait::CommId{7}};
    const Part part = what.factors == Factors::symmetric ? Part::lower : Part::all;
    const LocalTiles local{layout, part, runtime.self()};
    Residual residual{layout, what.factors, all};
    take(layout, matrix, local);
    residual.see_matrix(local.tiles());
    take(layout, factors, local);
    const double mine = residual.see_factors(local.tiles());
    const std::lock_guard lock{mutex};
    EXPECT_TRUE(answer == -1 || answer == mine || std::isnan(mine));
    answer = mine;
  });
  return answer;
}

Dense factored(Dense matrix, Factors factors) {
  EXPECT_EQ(factors == Factors::symmetric ? factor_symmetric(matrix.tile()) : factor_general(matrix.tile()), 0U);
  return matrix;
}

const Case cases[] = {{Factors::symmetric, 40, {1, 1}},
                      {Factors::symmetric, 7, {1, 1}},
                      {Factors::symmetric, 6, {2, 2}},
                      {Factors::general, 40, {1, 1}},
                      {Factors::general, 7, {1, 3}},
                      {Factors::general, 6, {2, 2}}};

Dense matrix_for(Factors factors) {
  return factors == Factors::symmetric ? symmetric_matrix(40, 80) : some_matrix(40, 40, 80);
}

TEST(Residual, of_right_factors_is_small) {
  for (const Case& one : cases) {
    const Dense matrix = matrix_for(one.factors);
    const double residual = residual_of(matrix, factored(matrix, one.factors), one);
    EXPECT_LT(residual, 1);
    EXPECT_GE(residual, 0);
  }
}

TEST(Residual, tells_the_norm_of_the_difference) {
  for (const Case& one : cases) {
    const Dense matrix = matrix_for(one.factors);
    Dense other = matrix;
    double norm_squared = 0;
    double error_squared = 0;
    for (std::size_t j = 0; j < 40; ++j) {
      for (std::size_t i = j; i < 40; ++i) {
        const double error = 1e-3 * std::cos(static_cast<double>(i * j));
        other.at(i, j) += error;
        error_squared += error * error;
        if (i != j) {
          other.at(j, i) += error;
          error_squared += error * error;
        }
      }
    }
    for (const double number : matrix.data) {
      norm_squared += number * number;
    }
    const double expected = std::sqrt(error_squared / norm_squared) / (40 * std::numeric_limits<double>::epsilon());
    const double told = residual_of(matrix, factored(other, one.factors), one);
    EXPECT_NEAR(told / expected, 1, 0.5);
  }
}

TEST(Residual, sees_one_wrong_number_in_any_tile) {
  for (const Case& one : cases) {
    const Dense matrix = matrix_for(one.factors);
    for (const auto& [row, column] : {std::pair{0, 0}, {39, 0}, {39, 39}, {20, 13}, {25, 24}}) {
      Dense wrong = factored(matrix, one.factors);
      wrong.at(static_cast<std::size_t>(row), static_cast<std::size_t>(column)) += 1e-9;
      EXPECT_GT(residual_of(matrix, wrong, one), Residual::accepted_max) << row << ' ' << column;
    }
  }
}

TEST(Residual, of_factors_with_something_that_is_no_number_is_none) {
  for (const Case& one : cases) {
    const Dense matrix = matrix_for(one.factors);
    Dense wrong = factored(matrix, one.factors);
    wrong.at(30, 2) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(residual_of(matrix, wrong, one)));
  }
}

}  // namespace
}  // namespace cholesky::residual_test
