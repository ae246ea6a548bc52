// SPDX-License-Identifier: Apache-2.0
#include "ring/leapfrog.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "ring/initial_condition.hpp"
#include "ring/one_rank.hpp"

namespace ring {
namespace {

struct Drift {
  double energy_max = 0;
  double momentum = 0;
};

Drift drift_over_an_orbit(const Parameters& parameters, std::uint32_t azimuthal) {
  RingShape shape;
  shape.azimuthal = azimuthal;
  test::OneRank run{make_ring(shape), parameters};
  const Diagnostics before = run.diagnostics();
  const int steps = static_cast<int>(2 * std::numbers::pi / parameters.time_step);
  Drift drift;
  for (int i = 0; i < steps; ++i) {
    run.step();
    drift.energy_max = std::max(drift.energy_max, std::abs(run.diagnostics().total() / before.total() - 1));
  }
  drift.momentum =
      length(run.diagnostics().angular_momentum - before.angular_momentum) / length(before.angular_momentum);
  std::printf("theta %g: largest relative energy error %.2e, angular momentum %.2e, over an orbit\n",
              parameters.theta,
              drift.energy_max,
              drift.momentum);
  return drift;
}

TEST(Leapfrog, keeps_the_energy_of_a_ring_to_1e_8_over_an_orbit) {
  EXPECT_LT(drift_over_an_orbit({}, 50).energy_max, 1e-8);
}

TEST(Leapfrog, keeps_angular_momentum_to_rounding_with_exact_forces) {
  EXPECT_LT(drift_over_an_orbit({.theta = 0}, 15).momentum, 1e-13);
}

TEST(Leapfrog, closes_the_orbit_of_two_bodies) {
  // Equal masses 1/2 at distance 1: period 2 pi.
  std::vector<Body> bodies(2);
  for (int i = 0; i < 2; ++i) {
    const double side = i == 0 ? 1 : -1;
    bodies[i].position = {side / 2, 0, 0};
    bodies[i].velocity = {0, side / 2, 0};
    bodies[i].mass = 0.5;
    bodies[i].id = static_cast<std::uint64_t>(i) + 1;
  }
  const int steps = 4096;
  Parameters parameters;
  parameters.central_mass = 0;
  parameters.time_step = 2 * std::numbers::pi / steps;
  test::OneRank run{bodies, parameters};
  for (int i = 0; i < steps; ++i) {
    run.step();
  }
  EXPECT_LT(length(run.body(1).position - bodies[0].position), 1e-5);  // phase error: dt^2 / 24 of 2 pi
  EXPECT_LT(length(run.body(1).position + run.body(2).position), 1e-15);
  EXPECT_NEAR(length(run.body(1).position), 0.5, 1e-6);
}

TEST(Leapfrog, fused_kick_and_drift_gives_the_same_bits) {
  std::vector<Body> a = make_sphere(100, 1, 1, 5);
  for (Body& body : a) {
    body.acceleration = cross(body.position, {1, 2, 3});
  }
  std::vector<Body> b = a;
  kick(a, 0.25 / 2);
  drift(a, 0.25);
  kick_and_drift(b, 0.25);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].position, b[i].position);
    EXPECT_EQ(a[i].velocity, b[i].velocity);
  }
}

}  // namespace
}  // namespace ring
