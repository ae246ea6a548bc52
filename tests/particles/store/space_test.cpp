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

constexpr double rate = 0.75;

Space shearing(double time) {
  Space space = half_periodic;
  space.shear = {.rate = rate, .time = time};
  return space;
}

/// The image some boxes on, by the definition.
Vector image(const Vector& position, double time, double row, double column) {
  return position + Vector{4 * row, 3 * column - row * rate * 4 * time, 0};
}

TEST(ShearingSpace, has_the_nearest_of_all_images) {
  std::mt19937_64 random{3};
  std::uniform_real_distribution<double> anywhere{-6, 6};
  for (int i = 0; i < 1000; ++i) {
    const double time = anywhere(random) / 3;
    const Vector d{anywhere(random), anywhere(random), anywhere(random)};
    double least = std::numeric_limits<double>::infinity();
    for (int x = -3; x <= 3; ++x) {
      for (int y = -12; y <= 12; ++y) {
        least = std::min(least, length(image(d, time, x, y)));
      }
    }
    EXPECT_NEAR(length(shearing(time).nearest(d)), least, 1e-12);
  }
}

TEST(ShearingSpace, folds_x_before_y) {
  std::mt19937_64 random{5};
  std::uniform_real_distribution<double> anywhere{-6, 6};
  for (int i = 0; i < 1000; ++i) {
    const double time = anywhere(random) / 3;
    const Vector d{anywhere(random), anywhere(random), anywhere(random)};
    const Separation found = shearing(time).lattice().in_box(d);
    int inside = 0;
    for (int x = -3; x <= 3; ++x) {
      for (int y = -12; y <= 12; ++y) {
        const Vector other = image(d, time, x, y);
        if (std::abs(other.x) < 2 && std::abs(other.y) < 1.5) {
          ++inside;
          EXPECT_LT(length(found.offset - other), 1e-12);
          EXPECT_EQ(found.y_speed, -x * rate * 4);
        }
      }
    }
    EXPECT_EQ(inside, 1);
  }
}

TEST(ShearingSpace, moves_particles_to_images_with_their_velocities) {
  Particles store;
  const auto velocity = store.add_field<Vector>("velocity");
  store.add(4);
  store.positions()[0] = {3.5, 2, 9};
  store.positions()[1] = {-1.25, 4.5, 9};
  store.positions()[2] = {0, 5.5, 9};
  store.positions()[3] = {std::nextafter(-1.0, -2.0), 2.5, 9};  // rounds to the upper end, which is the lower one
  Space space = shearing(0.125);
  space.shear.velocity = velocity;
  EXPECT_EQ(space.wrap({3.5, 2, 9}), (Vector{-0.5, 2.375, 9}));
  space.wrap(store, 0, 4);
  EXPECT_EQ(store.positions()[0], (Vector{-0.5, 2.375, 9}));
  EXPECT_EQ(store[velocity][0], (Vector{0, 3, 0}));
  EXPECT_EQ(store.positions()[1], (Vector{2.75, 4.125, 9}));
  EXPECT_EQ(store[velocity][1], (Vector{0, -3, 0}));
  EXPECT_EQ(store.positions()[2], (Vector{0, 2.5, 9}));
  EXPECT_EQ(store[velocity][2], (Vector{}));
  EXPECT_TRUE(store.positions()[3].x >= -1 && store.positions()[3].x < 3);
  EXPECT_NEAR(length(space.nearest(store.positions()[3] - Vector{-1, 2.5, 9})), 0, 1e-12);
}

TEST(ShearingSpace, has_a_displacement_within_the_box_at_any_time) {
  for (const double time : {0.0, 1e-300, -1e-300, 3.0, -0.4, 1e6, -1e6}) {
    const Slide slide = shearing(time).lattice().slide;
    EXPECT_TRUE(slide.displacement >= 0 && slide.displacement < 3) << time;
    EXPECT_EQ(slide.speed, rate * 4);
  }
  EXPECT_DOUBLE_EQ(shearing(-0.25).lattice().slide.displacement, 3 - 0.75);
  EXPECT_EQ(half_periodic.lattice().slide, Slide{});
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

TEST(ShearingSpace, refuses_what_cannot_slide) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NO_THROW(shearing(-7).check());
  EXPECT_THROW(shearing(nan).check(), Error);
  EXPECT_THROW((Space{.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}, .shear = {.rate = nan}}).check(),
               Error);
  EXPECT_THROW((Space{.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, false, true}, .shear = {.rate = 1}}).check(),
               Error);
  EXPECT_THROW((Space{.root = {{0, 0, 0}, {1, 0, 1}}, .periodic = {true, true, true}, .shear = {.rate = 1}}).check(),
               Error);
}

}  // namespace
}  // namespace plait::particles::space_test
