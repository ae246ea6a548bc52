// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "alltoall/overlap.hpp"

namespace alltoall_overlap_test {
namespace {

using alltoall::overlaps;
using alltoall::parts_of;
using alltoall::Turn;

TEST(Overlap, is_one_when_the_shorter_part_is_hidden) {
  const std::vector<Turn> after(3, Turn{.total = 5, .work = 3});
  const std::vector<Turn> during(3, Turn{.total = 3, .work = 3});
  EXPECT_EQ(overlaps(after, during), std::vector<double>(3, 1.0));
}

TEST(Overlap, is_zero_when_nothing_is_gained_and_negative_when_something_is_lost) {
  const std::vector<Turn> after{{.total = 4, .work = 2}, {.total = 4, .work = 2}};
  const std::vector<Turn> during{{.total = 4, .work = 2}, {.total = 5, .work = 2}};
  EXPECT_EQ(overlaps(after, during), (std::vector<double>{0.0, -0.5}));
}

TEST(Overlap, pairs_each_turn_with_its_neighbour_and_divides_by_medians) {
  const std::vector<Turn> after{{.total = 4, .work = 2}, {.total = 40, .work = 2}, {.total = 4, .work = 2}};
  const std::vector<Turn> during{{.total = 3, .work = 2}, {.total = 39, .work = 2}, {.total = 2, .work = 2}};
  EXPECT_EQ(overlaps(after, during), (std::vector<double>{0.5, 0.5, 1.0}));
}

TEST(Overlap, leaves_out_turns_without_partner) {
  const std::vector<Turn> after(5, Turn{.total = 4, .work = 2});
  EXPECT_EQ(overlaps(after, {{.total = 2, .work = 2}}).size(), 1U);
}

TEST(Overlap, has_no_value_when_there_is_nothing_to_hide) {
  const std::vector<Turn> after{{.total = 4, .work = 0}};
  EXPECT_TRUE(overlaps(after, after).empty());
}

TEST(Overlap, of_best_times_has_its_parts_from_the_twin) {
  EXPECT_EQ(alltoall::best_overlap({.total = 5, .work = 3}, {.total = 4, .work = 9}), 0.5);
  EXPECT_EQ(alltoall::best_overlap({.total = 5, .work = 0}, {.total = 4, .work = 0}), 0);
}

TEST(Overlap, takes_the_parts_from_the_twin) {
  const auto parts = parts_of({{.total = 5, .work = 2}, {.total = 7, .work = 3}, {.total = 90, .work = 2}});
  EXPECT_EQ(parts.communication, 4);
  EXPECT_EQ(parts.work, 2);
}

}  // namespace
}  // namespace alltoall_overlap_test
