// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gtest/gtest.h>

#include "ring/ring.hpp"

namespace ring::initial_condition_test {
namespace {

TEST(InitialCondition, puts_bodies_on_circular_orbits) {
  Bodies bodies;
  make_ring({.azimuthal = 30}, bodies);
  ASSERT_EQ(bodies.store.size(), 600U);
  double mass = 0;
  for (std::size_t i = 0; i < 600; ++i) {
    const Vector& position = bodies.store.positions()[i];
    const Vector& velocity = bodies.store[bodies.velocity][i];
    const double r = length(position);
    EXPECT_GE(r, 1 - 1e-12);
    EXPECT_LE(r, 1.1 + 1e-12);
    EXPECT_NEAR(dot(position, velocity), 0, 1e-15);
    EXPECT_NEAR(dot(velocity, velocity), 1 / r, 1e-14);
    mass += bodies.store[bodies.mass][i];
  }
  EXPECT_NEAR(mass, 5e-5, 1e-18);
}

TEST(InitialCondition, does_not_depend_on_how_it_is_divided) {
  const RingShape shape{.azimuthal = 11, .layers = 3, .thickness = 0.01, .velocity_scatter = 0.1};
  Bodies whole;
  make_ring(shape, whole);
  for (const std::uint32_t ranks : {2U, 7U}) {
    Bodies parts;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      make_ring(shape, parts, rank, ranks);
    }
    ASSERT_EQ(parts.store.size(), whole.store.size());
    for (std::size_t i = 0; i < whole.store.size(); ++i) {
      EXPECT_EQ(parts.store.ids()[i], i + 1);
      EXPECT_EQ(parts.store.positions()[i], whole.store.positions()[i]);
      EXPECT_EQ(parts.store[parts.velocity][i], whole.store[whole.velocity][i]);
    }
  }
}

TEST(InitialCondition, scatters_velocities_as_told) {
  Bodies bodies;
  make_ring({.azimuthal = 2000, .radial = 1, .velocity_scatter = 0.01}, bodies);
  double sum2 = 0;
  for (const Vector& velocity : bodies.store[bodies.velocity]) {
    sum2 += velocity.z * velocity.z;
  }
  EXPECT_NEAR(std::sqrt(sum2 / 2000), 0.01, 0.0006);
}

TEST(InitialCondition, refuses_shapes_that_cannot_be) {
  Bodies bodies;
  EXPECT_THROW(make_ring({.azimuthal = 0}, bodies), plait::Error);
  EXPECT_THROW(make_ring({.inner = 0}, bodies), plait::Error);
  EXPECT_THROW(make_ring({.total_mass = -1}, bodies), plait::Error);
  EXPECT_THROW(make_ring({.layers = 2}, bodies), plait::Error);
}

}  // namespace
}  // namespace ring::initial_condition_test
