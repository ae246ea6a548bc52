// SPDX-License-Identifier: Apache-2.0
#include "dns/modes.hpp"

#include <gtest/gtest.h>

namespace dns::modes_test {
namespace {

Layout whole(const std::array<Index, 3>& lengths) {
  const std::array<Index, 3> all{lengths[0], lengths[1], lengths[2] / 2 + 1};
  return {all, Box{{0, 0, 0}, all}, {all[1] * all[2], all[2], 1}};
}

TEST(Modes, are_kept_as_dealiasing_says) {
  const std::array<Index, 3> lengths{12, 9, 16};
  const Modes cut{lengths, whole(lengths), Dealiasing::truncation};
  EXPECT_EQ(cut.k(1), (std::vector<double>{0, 1, 2, 3, 4, -4, -3, -2, -1}));
  EXPECT_EQ(cut.kept(0, 0), 6);  // 0 ... 5 of 16
  EXPECT_EQ(cut.kept(4, 0), 0);  // 3 of 12 are the last
  EXPECT_EQ(cut.kept(9, 2), 6);
  EXPECT_EQ(cut.kept(9, 3), 0);
  EXPECT_EQ(cut.k_max(), 2);

  const Modes all{lengths, whole(lengths), Dealiasing::none};
  EXPECT_EQ(all.kept(0, 0), 8) << "that at half the points is zero";
  EXPECT_EQ(all.kept(6, 0), 0);
  EXPECT_EQ(all.kept(0, 4), 8) << "an odd length has no such mode";

  const std::array<Index, 3> cube{30, 30, 30};
  const Modes sphere{cube, whole(cube), Dealiasing::phase_shift};
  EXPECT_EQ(sphere.k_max(), 14);
  EXPECT_TRUE(sphere.is_kept({10, 9, -4}));   // 197 < 200
  EXPECT_FALSE(sphere.is_kept({10, 8, -6}));  // 200
  EXPECT_EQ(sphere.shells(), 16);
}

TEST(Modes, of_single_planes_and_points_exist) {
  for (const Dealiasing dealiasing : {Dealiasing::none, Dealiasing::truncation, Dealiasing::phase_shift}) {
    const std::array<Index, 3> point{1, 1, 1};
    EXPECT_EQ((Modes{point, whole(point), dealiasing}.kept(0, 0)), 1);
    const std::array<Index, 3> plane{8, 7, 1};
    EXPECT_EQ((Modes{plane, whole(plane), dealiasing}.kept(1, 6)), 1);
  }
}

}  // namespace
}  // namespace dns::modes_test
