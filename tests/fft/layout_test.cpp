// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/layout.hpp"

#include <gtest/gtest.h>

namespace plait::fft::layout_test {
namespace {

TEST(Parts, cover_all_points_in_order_and_differ_by_one_at_most) {
  for (const Index length : {0, 1, 2, 5, 7, 16, 100}) {
    for (const std::uint32_t parts : {1U, 2U, 3U, 7U, 101U}) {
      Index next = 0;
      for (std::uint32_t part = 0; part < parts; ++part) {
        const Range range = part_of(length, parts, part);
        ASSERT_EQ(range.low, next);
        ASSERT_GE(range.count(), length / parts);
        ASSERT_LE(range.count(), length / parts + 1);
        next = range.high;
      }
      ASSERT_EQ(next, length);
    }
  }
}

TEST(IndexBox, knows_the_points_it_shares_with_another) {
  const IndexBox one{{0, 0, 0}, {4, 5, 6}};
  EXPECT_EQ(one.volume(), 120);
  EXPECT_EQ(common_part(one, {{2, 1, 5}, {9, 2, 9}}), (IndexBox{{2, 1, 5}, {4, 2, 6}}));
  EXPECT_TRUE(common_part(one, {{4, 0, 0}, {5, 5, 5}}).is_empty());
}

TEST(ArrayLayout, tells_places_by_indices_of_the_whole_array) {
  const ArrayLayout layout{{8, 8, 8}, {{4, 2, 0}, {8, 4, 8}}, {16, 8, 1}};
  EXPECT_EQ(layout.size(), 64);
  EXPECT_EQ(layout.offset(4, 2, 0), 0);
  EXPECT_EQ(layout.offset(5, 3, 7), 16 + 8 + 7);
}

}  // namespace
}  // namespace plait::fft::layout_test
