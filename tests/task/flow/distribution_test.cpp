// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/distribution.hpp"

#include <gtest/gtest.h>

namespace plait::task::distribution_test {
namespace {

TEST(BlockCyclic, deals_pieces_out_along_rows_and_columns_of_ranks) {
  const BlockCyclic grid{.rows = 2, .columns = 3};
  EXPECT_EQ(grid(0, 0), Rank{0});
  EXPECT_EQ(grid(0, 2), Rank{2});
  EXPECT_EQ(grid(1, 0), Rank{3});
  EXPECT_EQ(grid(3, 4), Rank{4});
  EXPECT_EQ(grid(2, 3), Rank{0});
}

TEST(BlockCyclic, finds_the_grid_that_is_nearest_to_a_square) {
  EXPECT_EQ(BlockCyclic::square(1).rows, 1U);
  EXPECT_EQ(BlockCyclic::square(12).rows, 3U);
  EXPECT_EQ(BlockCyclic::square(12).columns, 4U);
  EXPECT_EQ(BlockCyclic::square(16).rows, 4U);
  EXPECT_EQ(BlockCyclic::square(7).columns, 7U);
}

}  // namespace
}  // namespace plait::task::distribution_test
