// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/space.hpp"

#include <algorithm>
#include <limits>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::particles::space_test {
namespace {

const Space half_periodic{.root = {{-1, 2, 0}, {3, 5, 0}}, .periodic = {true, true, false}};

TEST(Space, wraps_along_periodic_axes_only) {
  EXPECT_EQ(half_periodic.wrap({3, 1, 77}), (Vector{-1, 4, 77}));
  EXPECT_EQ(half_periodic.wrap({-1, 2, -5}), (Vector{-1, 2, -5}));
  EXPECT_EQ(half_periodic.wrap({-1e-30, 4, 0}).x, -1e-30);
  EXPECT_EQ(half_periodic.wrap({1e18 + 1, 2, 0}).z, 0);
  const Vector at_end = half_periodic.wrap({0, std::nextafter(2.0, 0), 0});
  EXPECT_TRUE(at_end.y >= 2 && at_end.y < 5);
  EXPECT_TRUE(std::isnan(half_periodic.wrap({std::numeric_limits<double>::quiet_NaN(), 2, 0}).x));
  EXPECT_EQ(half_periodic.wrap({std::numeric_limits<double>::infinity(), 2, 0}).x,
            std::numeric_limits<double>::infinity());
}

TEST(Space, has_the_nearest_of_all_images) {
  std::mt19937_64 random{3};
  std::uniform_real_distribution<double> anywhere{-6, 6};
  for (int i = 0; i < 1000; ++i) {
    const Vector d{anywhere(random), anywhere(random), anywhere(random)};
    double least = std::numeric_limits<double>::infinity();
    for (int x = -3; x <= 3; ++x) {
      for (int y = -3; y <= 3; ++y) {
        least = std::min(least, length(d + Vector{4.0 * x, 3.0 * y, 0}));
      }
    }
    EXPECT_NEAR(length(half_periodic.nearest(d)), least, 1e-12);
  }
}

TEST(Space, places_rings_by_azimuth_and_logarithm_of_radius) {
  const Space space{.coordinates = Coordinates::cylindrical};
  const Vector place = space.place({0, -std::numbers::e, 7});
  EXPECT_DOUBLE_EQ(place.x, -std::numbers::pi / 2);
  EXPECT_DOUBLE_EQ(place.y, 1);
  EXPECT_EQ(place.z, 7);
  EXPECT_TRUE(std::isfinite(space.place({0, 0, 0}).y));
  EXPECT_EQ(space.closed_axes(), (std::array{true, false, false}));
}

TEST(Space, refuses_invalid_periods) {
  EXPECT_NO_THROW(half_periodic.check());
  EXPECT_NO_THROW(Space{}.check());
  EXPECT_THROW((Space{.periodic = {true, false, false}}).check(), Error);
  EXPECT_THROW((Space{.root = {{0, 0, 0}, {1, 1, 0}}, .periodic = {true, true, true}}).check(), Error);
  EXPECT_THROW(
      (Space{.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, false, false}, .coordinates = Coordinates::cylindrical})
          .check(),
      Error);
}

}  // namespace
}  // namespace plait::particles::space_test
