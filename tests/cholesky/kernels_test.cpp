// SPDX-License-Identifier: Apache-2.0
#include "cholesky/kernels/kernels.hpp"

#include <gtest/gtest.h>

#include "cholesky/dense.hpp"

namespace cholesky::kernels_test {
namespace {

using namespace test;

// Below, at and above the sizes where kernels are cut in halves, and none of them round.
constexpr std::size_t sizes[] = {1, 2, 31, 33, 64, 65, 129, 200};
constexpr double rounding = 1e-11;

TEST(Kernels, factor_a_symmetric_tile_and_leave_what_is_above_its_diagonal) {
  for (const std::size_t size : sizes) {
    const Dense matrix = symmetric_matrix(size, 300);
    Dense factored = matrix;
    ASSERT_EQ(factor_symmetric(factored.tile()), 0U);
    const Dense l = lower_of(factored);
    EXPECT_LT(largest(difference(product(l, l, Form::transposed), matrix)), rounding) << size;
    EXPECT_EQ(largest(difference(upper_of(factored), upper_of(matrix))) > 0, true);  // the diagonal
    for (std::size_t j = 1; j < size; ++j) {
      ASSERT_EQ(factored.at(0, j), matrix.at(0, j));
    }
  }
}

TEST(Kernels, name_the_order_of_the_first_minor_that_is_not_positive) {
  for (const std::size_t size : sizes) {
    for (const std::size_t bad : {std::size_t{0}, size / 2, size - 1}) {
      Dense matrix = symmetric_matrix(size, 300);
      matrix.at(bad, bad) = -1;
      EXPECT_EQ(factor_symmetric(matrix.tile()), bad + 1) << size;
    }
  }
}

TEST(Kernels, solve_with_the_transposed_lower_triangle_from_the_right) {
  for (const std::size_t size : sizes) {
    Dense l = some_matrix(size, size, 200);
    const Dense b = some_matrix(size / 2 + 3, size);
    Dense x = b;
    solve_transposed(l.tile(), x.tile());
    EXPECT_LT(largest(difference(product(x, lower_of(l), Form::transposed), b)), rounding) << size;
  }
}

TEST(Kernels, subtract_products) {
  for (const std::size_t size : sizes) {
    Dense a = some_matrix(size + 2, size);
    Dense b = some_matrix(size / 2 + 1, size);
    const Dense c = some_matrix(a.rows, b.rows);
    Dense result = c;
    update_transposed(a.tile(), b.tile(), result.tile());
    EXPECT_LT(largest(difference(difference(c, product(a, b, Form::transposed)), result)), rounding);
    Dense other = some_matrix(size, size / 2 + 1);
    Dense plain = c;
    update(a.tile(), other.tile(), plain.tile());
    EXPECT_LT(largest(difference(difference(c, product(a, other)), plain)), rounding);
  }
}

TEST(Kernels, subtract_a_square_from_the_lower_triangle_only) {
  for (const std::size_t size : sizes) {
    Dense a = some_matrix(size, size / 2 + 1);
    const Dense c = symmetric_matrix(size, 1);
    Dense result = c;
    update_symmetric(a.tile(), result.tile());
    const Dense expected = difference(c, product(a, a, Form::transposed));
    EXPECT_LT(largest(difference(lower_of(expected), lower_of(result))), rounding);
    for (std::size_t j = 1; j < size; ++j) {
      ASSERT_EQ(result.at(0, j), c.at(0, j));
    }
  }
}

TEST(Kernels, factor_a_general_tile_without_pivoting) {
  for (const std::size_t size : sizes) {
    const Dense matrix = some_matrix(size, size, 300);
    Dense factored = matrix;
    ASSERT_EQ(factor_general(factored.tile()), 0U);
    EXPECT_LT(largest(difference(product(unit_lower_of(factored), upper_of(factored)), matrix)), rounding) << size;
  }
}

TEST(Kernels, name_the_row_of_the_first_pivot_that_is_none) {
  for (const std::size_t size : sizes) {
    Dense diagonal{size};
    for (std::size_t i = 0; i < size; ++i) {
      diagonal.at(i, i) = i == size / 2 ? 0 : 2;
    }
    EXPECT_EQ(factor_general(diagonal.tile()), size / 2 + 1) << size;
  }
}

TEST(Kernels, solve_with_both_triangles_of_a_factored_tile) {
  for (const std::size_t size : sizes) {
    Dense lu = some_matrix(size, size, 200);
    for (double& number : lu.data) {
      number *= 0.02;  // below the diagonal L is applied with ones on it
    }
    const Dense b = some_matrix(size, size / 2 + 3);
    Dense x = b;
    solve_lower(lu.tile(), x.tile());
    EXPECT_LT(largest(difference(product(unit_lower_of(lu), x), b)) / largest(x), rounding) << size;
    const Dense c = some_matrix(size / 2 + 3, size);
    Dense y = c;
    solve_upper(lu.tile(), y.tile());
    EXPECT_LT(largest(difference(product(y, upper_of(lu)), c)) / largest(y), rounding) << size;
  }
}

}  // namespace
}  // namespace cholesky::kernels_test
