// SPDX-License-Identifier: Apache-2.0
#include "cholesky/layout.hpp"

#include <set>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace cholesky::layout_test {
namespace {

TEST(Grid, is_read_from_rows_x_columns) {
  EXPECT_EQ(parse_grid("2x3", 6).rows, 2U);
  EXPECT_EQ(parse_grid("2x3", 6).columns, 3U);
  EXPECT_EQ(parse_grid("6x1", 6).rows, 6U);
}

TEST(Grid, that_does_not_hold_the_ranks_or_is_none_is_refused_with_one_that_does) {
  for (const char* const text :
       {"2x2", "0x6", "6", "", "x", "2x", "x3", "2x3x1", "-2x-3", "2*3", "2x3 ", "4294967298x3"}) {
    try {
      (void)parse_grid(text, 6);
      FAIL() << text;
    } catch (const plait::Error& error) {
      EXPECT_NE(std::string{error.what()}.find("2x3"), std::string::npos) << error.what();
    }
  }
}

TEST(Layout, cuts_the_last_tiles_to_what_is_left) {
  const Layout layout{10, 4, {1, 1}};
  EXPECT_EQ(layout.count(), 3U);
  EXPECT_EQ(layout.rows(0), 4U);
  EXPECT_EQ(layout.rows(2), 2U);
  EXPECT_EQ(layout.first(2), 8U);
}

TEST(Layout, deals_tiles_out_in_rows_and_columns_in_turn) {
  const Layout layout{50, 10, {2, 3}};
  EXPECT_EQ(layout.owner(0, 0), plait::Rank{0});
  EXPECT_EQ(layout.owner(0, 2), plait::Rank{2});
  EXPECT_EQ(layout.owner(1, 0), plait::Rank{3});
  EXPECT_EQ(layout.owner(4, 4), plait::Rank{1});
}

TEST(LocalTiles, of_all_ranks_are_each_tile_once) {
  const Layout layout{37, 5, {2, 3}};
  for (const Part part : {Part::lower, Part::all}) {
    std::set<std::pair<std::size_t, std::size_t>> seen;
    std::uint64_t bytes = 0;
    for (std::uint32_t rank = 0; rank < 6; ++rank) {
      const LocalTiles local{layout, part, plait::Rank{rank}};
      for (const PlacedTile& placed : local.tiles()) {
        EXPECT_TRUE(seen.emplace(placed.row, placed.column).second);
        EXPECT_EQ(placed.tile.rows, layout.rows(placed.row));
        EXPECT_EQ(placed.tile.columns, layout.rows(placed.column));
        EXPECT_TRUE(part == Part::all || placed.row >= placed.column);
      }
      bytes += bytes_of(layout, part, plait::Rank{rank});
    }
    EXPECT_EQ(seen.size(), part == Part::all ? 64U : 36U);
    EXPECT_TRUE(part != Part::all || bytes == 37U * 37U * sizeof(double));
  }
}

}  // namespace
}  // namespace cholesky::layout_test
