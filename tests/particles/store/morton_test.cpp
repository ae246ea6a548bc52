// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/morton.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::particles::morton_test {
namespace {

TEST(Morton, orders_octants_with_x_first) {
  const KeyCube cube{Box{{0, 0, 0}, {1, 1, 1}}};
  EXPECT_EQ(cube.key_of({0, 0, 0}), 0U);
  EXPECT_EQ(cube.key_of({0.5, 0, 0}) >> 60, 4U);
  EXPECT_EQ(cube.key_of({0, 0.5, 0}) >> 60, 2U);
  EXPECT_EQ(cube.key_of({0, 0, 0.5}) >> 60, 1U);
  EXPECT_EQ(cube.key_of({1, 1, 1}), (MortonKey{1} << 63) - 1);
}
TEST(Morton, does_not_divide_a_thin_ring_at_its_middle_plane) {
  const KeyCube cube{Box{{-1, -1, -1e-3}, {1, 1, 1e-3}}};
  EXPECT_GE(common_levels(cube.key_of({0.3, 0.3, -1e-4}), cube.key_of({0.3, 0.3, 1e-4})), 9);
}
TEST(Morton, gives_points_outside_a_key_at_the_border) {
  const KeyCube cube{Box{{0, 0, 0}, {1, 1, 1}}};
  EXPECT_EQ(cube.key_of({-5, -5, -5}), 0U);
  EXPECT_EQ(cube.key_of({5, 5, 5}), (MortonKey{1} << 63) - 1);
}
TEST(Morton, maps_a_point_or_nothing_to_0) {
  EXPECT_EQ((KeyCube{Box{{1, 2, 3}, {1, 2, 3}}}.key_of({1, 2, 3})), 0U);
  EXPECT_EQ(KeyCube{Box{}}.key_of({1, 2, 3}), 0U);
}
TEST(Morton, counts_common_levels) {
  EXPECT_EQ(common_levels(5, 5), morton_levels);
  EXPECT_EQ(common_levels(0, 1), morton_levels - 1);
  EXPECT_EQ(common_levels(0, MortonKey{1} << 62), 0);
  EXPECT_EQ(common_levels(0, MortonKey{1} << far_bit), -1);
}
TEST(KeySpace, keeps_the_order_of_all_others_when_one_is_far) {
  std::vector<Vector> positions;
  Box box;
  for (int i = 0; i < 1000; ++i) {
    positions.push_back({0.1 * (i % 10), 0.1 * (i / 10 % 10), 0.1 * (i / 100)});
    box.include(positions.back());
  }
  const KeySpace evenly{box, positions};
  EXPECT_EQ(evenly.key_of(positions[123]), KeyCube{box}.key_of(positions[123]));
  positions.push_back({1e12, 0, 0});
  box.include(positions.back());
  const KeySpace with_far{box, positions};
  EXPECT_EQ(with_far.key_of(positions.back()) >> far_bit, 1U);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(with_far.key_of(positions[i]) >> far_bit, 0U);
    EXPECT_LT(common_levels(with_far.key_of(positions[i]), with_far.key_of(positions[(i + 1) % 1000])), 12);
  }
}
TEST(BoundingBox, names_the_particle_that_is_nowhere) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -2 * position_max}) {
    Particles particles;
    particles.add(3);
    particles.positions()[1].y = bad;
    particles.ids()[1] = 42;
    try {
      static_cast<void>(bounding_box(particles));
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string{error.what()}.find("42"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace plait::particles::morton_test
