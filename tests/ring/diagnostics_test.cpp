// SPDX-License-Identifier: Apache-2.0
#include "ring/diagnostics.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "ring/initial_condition.hpp"
#include "ring/one_rank.hpp"

namespace ring {
namespace {

TEST(Diagnostics, of_two_bodies_about_a_centre) {
  std::vector<Body> bodies(2);
  bodies[0].position = {2, 0, 0};
  bodies[0].velocity = {0, 3, 0};
  bodies[0].mass = 0.5;
  bodies[1].position = {0, 4, 0};
  bodies[1].mass = 0.25;
  bodies[0].potential = -0.25 / std::sqrt(20);
  bodies[1].potential = -0.5 / std::sqrt(20);
  Diagnostics sum = diagnose(std::span{bodies}.first(1), 1);
  sum += diagnose(std::span{bodies}.last(1), 1);
  EXPECT_DOUBLE_EQ(sum.kinetic, 2.25);
  EXPECT_DOUBLE_EQ(sum.central_potential, -0.5 / 2 - 0.25 / 4);
  EXPECT_DOUBLE_EQ(sum.self_potential, -0.125 / std::sqrt(20));
  EXPECT_EQ(sum.angular_momentum, (Vector{0, 0, 3}));
  EXPECT_EQ(sum.momentum, (Vector{0, 1.5, 0}));
}

TEST(Diagnostics, account_for_what_contacts_store_and_dissipate) {
  RingShape shape;
  shape.azimuthal = 100;
  shape.velocity_scatter = 0.01;
  Parameters parameters;
  parameters.collision_radius = 0.01;
  parameters.contact_steps = 128;
  test::OneRank run{make_ring(shape), parameters};
  const Diagnostics before = run.diagnostics();
  for (int i = 0; i < 300; ++i) {
    run.step();
  }
  const Diagnostics after = run.diagnostics();
  const double lost = after.dissipated;
  std::printf("dissipated %.3e of %.3e, unaccounted %.3e\n", lost, before.kinetic, after.total() - before.total());
  EXPECT_GT(lost, 1e-5 * before.kinetic);
  EXPECT_LT(std::abs(after.total() - before.total()), 0.02 * lost);
}

TEST(Diagnostics, with_softening_leave_out_a_body_s_own_potential) {
  std::vector<Body> bodies(1);
  bodies[0].position = {1, 0, 0};
  bodies[0].mass = 1;
  Parameters parameters;
  parameters.softening = 0.01;
  const test::OneRank run{bodies, parameters};
  EXPECT_NEAR(run.diagnostics().self_potential, 0, 1e-9);
}

}  // namespace
}  // namespace ring
