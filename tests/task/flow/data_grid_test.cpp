// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/data_grid.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "plait/testing/local_rank.hpp"

namespace plait::task::data_grid_test {
namespace {

TEST(DataGrid, gives_each_piece_to_the_rank_that_the_distribution_names) {
  plait::test::run_on_ranks({.ranks = 4}, {}, [](plait::test::LocalRank& rank) {
    Flow flow{rank};
    const DataGrid<float> cyclic{flow, "A", {.rows = 4, .columns = 5}, 6, BlockCyclic{.rows = 2, .columns = 2}};
    const DataGrid<float> by_function{
        flow, "B", {.rows = 4, .columns = 1}, 6, [](std::uint32_t row, std::uint32_t) { return Rank{3 - row}; }};
    int local = 0;
    for (std::uint32_t row = 0; row < cyclic.rows(); ++row) {
      for (std::uint32_t column = 0; column < cyclic.columns(); ++column) {
        EXPECT_EQ(cyclic(row, column).owner(), (Rank{row % 2 * 2 + column % 2}));
        if (cyclic.is_local(row, column)) {
          ++local;
          EXPECT_EQ(cyclic.local(row, column).size(), 6U);
          std::ranges::fill(cyclic.local(row, column), 1.0F);
        }
      }
      EXPECT_EQ(by_function(row, 0).owner(), Rank{3 - row});
    }
    EXPECT_EQ(local, rank.self().value() % 2 == 0 ? 6 : 4);
    for (std::uint32_t row = 1; row < 4; ++row) {
      flow.submit([](std::span<const float> above, std::span<float> here) { here[5] += above[5]; },
                  r(cyclic(row - 1, 4)),
                  rw(cyclic(row, 4)));
    }
    flow.wait();
    if (cyclic.is_local(3, 4)) {
      EXPECT_EQ(cyclic.local(3, 4)[5], 4.0F);
    }
  });
}

}  // namespace
}  // namespace plait::task::data_grid_test
