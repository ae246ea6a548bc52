// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/conserved.hpp"

#include <gtest/gtest.h>

namespace plait::particles::conserved_test {
namespace {

TEST(Conserved, sums_what_two_bodies_on_a_circle_keep) {
  Particles particles;
  const ConservedFields fields{particles.add_field<double>("mass"),
                               particles.add_field<Vector>("velocity"),
                               particles.add_field<double>("potential")};
  particles.add(2);
  for (std::size_t i = 0; i < 2; ++i) {
    const double side = i == 0 ? 1 : -1;
    particles.positions()[i] = {side, 0, 0};
    particles[fields.velocity][i] = {0, side * 0.5, 0};
    particles[fields.mass][i] = 1;
    particles[fields.potential][i] = -0.5;
  }
  Conserved sum = conserved(particles, fields);
  EXPECT_EQ(sum.mass, 2);
  EXPECT_EQ(sum.kinetic, 0.25);
  EXPECT_EQ(sum.potential, -0.5);
  EXPECT_EQ(sum.momentum, (Vector{}));
  EXPECT_EQ(sum.angular_momentum, (Vector{0, 0, 1}));
  sum += sum;
  EXPECT_EQ(sum.potential, -1);
  EXPECT_EQ(sum.angular_momentum.z, 2);
}

}  // namespace
}  // namespace plait::particles::conserved_test
