// SPDX-License-Identifier: Apache-2.0
#include "ring/initial_condition.hpp"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace ring {
namespace {

TEST(InitialCondition, puts_bodies_on_circular_orbits) {
  RingShape shape;
  shape.azimuthal = 30;
  const std::vector<Body> ring = make_ring(shape);
  ASSERT_EQ(ring.size(), 600U);
  double mass = 0;
  for (const Body& body : ring) {
    const double r = length(body.position);
    EXPECT_GE(r, 1 - 1e-12);
    EXPECT_LE(r, 1.1 + 1e-12);
    EXPECT_NEAR(dot(body.position, body.velocity), 0, 1e-15);
    EXPECT_NEAR(dot(body.velocity, body.velocity), 1 / r, 1e-14);
    mass += body.mass;
  }
  EXPECT_NEAR(mass, 5e-5, 1e-18);
}

TEST(InitialCondition, does_not_depend_on_how_it_is_divided) {
  RingShape shape;
  shape.azimuthal = 11;
  shape.layers = 3;
  shape.thickness = 0.01;
  shape.velocity_scatter = 0.1;
  const std::vector<Body> whole = make_ring(shape);
  const std::vector<Body> part = make_ring(shape, 100, 217);
  ASSERT_EQ(part.size(), 117U);
  EXPECT_EQ(std::memcmp(part.data(), &whole[100], 117 * sizeof(Body)), 0);
}

TEST(InitialCondition, scatters_velocities_as_told) {
  RingShape shape;
  shape.azimuthal = 2000;
  shape.radial = 1;
  shape.velocity_scatter = 0.01;
  double sum2 = 0;
  for (const Body& body : make_ring(shape)) {
    sum2 += body.velocity.z * body.velocity.z;
  }
  EXPECT_NEAR(std::sqrt(sum2 / 2000), 0.01, 0.0006);
}

TEST(InitialCondition, refuses_shapes_that_cannot_be) {
  EXPECT_THROW(static_cast<void>(make_ring({.azimuthal = 0})), plait::Error);
  EXPECT_THROW(static_cast<void>(make_ring({.inner = 0})), plait::Error);
  EXPECT_THROW(static_cast<void>(make_ring({.total_mass = -1})), plait::Error);
  EXPECT_THROW(static_cast<void>(make_ring({.layers = 2})), plait::Error);
}

TEST(InitialCondition, fills_a_sphere_evenly) {
  double r2 = 0;
  for (const Body& body : make_sphere(10000, 2, 1, 1)) {
    EXPECT_LE(length(body.position), 2);
    r2 += dot(body.position, body.position) / 10000;
  }
  EXPECT_NEAR(r2, 0.6 * 4, 0.03);
}

}  // namespace
}  // namespace ring
