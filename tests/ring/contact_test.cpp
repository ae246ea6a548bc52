// SPDX-License-Identifier: Apache-2.0
#include "ring/contact.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "ring/one_rank.hpp"

namespace ring {
namespace {

struct Rebound {
  double restitution;
  double energy_error;  ///< Of the total with what was dissipated, over the kinetic energy before.
};

/// Two bodies of masses 1 : 3, too light to attract, meet head on far from any centre. `phase` shifts the contact
/// within a time step.
Rebound collide(const Parameters& parameters, double phase) {
  const double speed = parameters.collision_radius / (1.25 * parameters.contact_steps * parameters.time_step);
  std::vector<Body> bodies(2);
  bodies[0].mass = 1e-12;
  bodies[1].mass = 3e-12;
  const double gap = parameters.collision_radius + speed * parameters.time_step * (2 + phase);
  bodies[0].position = {0.3, 0.2, 0.1};
  bodies[1].position = bodies[0].position + gap * Vector{0.6, 0, 0.8};
  bodies[0].velocity = speed * Vector{0.6, 0, 0.8};
  bodies[0].id = 1;
  bodies[1].id = 2;
  test::OneRank run{bodies, parameters};
  const Diagnostics before = run.diagnostics();
  for (int i = 0; i < 2 * parameters.contact_steps; ++i) {
    run.step();
  }
  const double after = length(run.body(2).velocity - run.body(1).velocity);
  const double reduced_energy = 0.5 * 0.75e-12 * speed * speed;
  return {after / speed, (run.diagnostics().total() - before.total()) / reduced_energy};
}

Parameters head_on(double restitution, double contact_steps) {
  Parameters parameters;
  parameters.central_mass = 0;
  parameters.collision_radius = 0.01;
  parameters.restitution = restitution;
  parameters.contact_steps = contact_steps;
  return parameters;
}

struct Scatter {
  double mean = 0;
  double worst = 0;
  double energy_worst = 0;
};

Scatter scatter_of(double restitution, double contact_steps) {
  Scatter scatter;
  const int phases = 20;
  for (int i = 0; i < phases; ++i) {
    const Rebound rebound = collide(head_on(restitution, contact_steps), (i + 0.5) / phases);
    scatter.mean += rebound.restitution / phases;
    scatter.worst = std::max(scatter.worst, std::abs(rebound.restitution - restitution));
    scatter.energy_worst = std::max(scatter.energy_worst, std::abs(rebound.energy_error));
  }
  std::printf("S = %g, K = %g: mean %.4f, worst difference %.4f, worst energy error %.4f\n",
              restitution,
              contact_steps,
              scatter.mean,
              scatter.worst,
              scatter.energy_worst);
  return scatter;
}

TEST(Contact, rebounds_with_the_restitution_within_2_percent) {
  for (const double restitution : {0.5, 0.9}) {
    EXPECT_LT(scatter_of(restitution, 32).worst, 0.02 * restitution);
  }
  EXPECT_LT(scatter_of(0.1, 512).worst, 0.02 * 0.1);  // the harder the damper, the shorter the steps it takes
}

TEST(Contact, rebounds_ever_closer_to_the_restitution_with_shorter_steps) {
  const double coarse = scatter_of(0.5, 32).worst;
  const double fine = scatter_of(0.5, 128).worst;
  const double finest = scatter_of(0.5, 512).worst;
  EXPECT_LT(fine, coarse / 2);
  EXPECT_LT(finest, fine / 2);
}

TEST(Contact, is_the_same_for_both_partners) {
  const ContactLaw law{head_on(0.5, 32)};
  const Vector offset{0.004, -0.003, 0.001};
  const Vector velocity{-0.1, 0.2, 0.3};
  const ContactForce a = contact_force(law, {offset, velocity, 2, 6});
  const ContactForce b = contact_force(law, {-1 * offset, -1 * velocity, 6, 2});
  EXPECT_LT(length(2 * a.acceleration + 6 * b.acceleration), 1e-12 * length(a.acceleration));
  EXPECT_DOUBLE_EQ(a.spring_energy, b.spring_energy);
  EXPECT_DOUBLE_EQ(a.dissipation_rate, b.dissipation_rate);
}

TEST(Contact, without_loss_has_no_damper) {
  EXPECT_EQ(ContactLaw{head_on(1, 32)}.eta, 0);
}

}  // namespace
}  // namespace ring
