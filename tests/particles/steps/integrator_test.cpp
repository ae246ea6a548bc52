// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/integrator.hpp"

#include <array>

#include <gtest/gtest.h>

namespace plait::particles::integrator_test {
namespace {

struct Bodies {
  Particles store;
  Field<Vector> velocity = store.add_field<Vector>("velocity");
  Field<Vector> acceleration = store.add_field<Vector>("acceleration");
  Field<Vector> now = store.add_field<Vector>("velocity now");

  Bodies() {
    store.add(3);
    for (std::size_t i = 0; i < 3; ++i) {
      store[velocity][i] = store[now][i] = {1, 0, 0};
      store[acceleration][i] = {0, 2, 0};
    }
  }
};

TEST(Leapfrog, drifts_a_range_by_velocities_and_kicks_some_by_accelerations) {
  Bodies bodies;
  const Integrator motion = leapfrog({.velocity = bodies.velocity, .acceleration = bodies.acceleration});
  motion.drift(bodies.store, 1, 3, 0.5);
  EXPECT_EQ(bodies.store.positions()[0].x, 0);
  EXPECT_EQ(bodies.store.positions()[2].x, 0.5);
  const std::array kicks{Kick{0, 0.25}, Kick{2, 0.5}};
  motion.kick(bodies.store, kicks);
  EXPECT_EQ(bodies.store[bodies.velocity][0].y, 0.5);
  EXPECT_EQ(bodies.store[bodies.velocity][1].y, 0);
  EXPECT_EQ(bodies.store[bodies.velocity][2].y, 1);
  EXPECT_FALSE(motion.settle) << "nothing is predicted";
  EXPECT_FALSE(motion.predict);
}

TEST(Leapfrog, predicts_velocities_until_the_kick_that_ends_a_step) {
  Bodies bodies;
  const Integrator motion =
      leapfrog({.velocity = bodies.velocity, .acceleration = bodies.acceleration, .velocity_now = bodies.now});
  motion.drift(bodies.store, 0, 3, 0.25);
  EXPECT_EQ(bodies.store[bodies.now][1].y, 0) << "by the duration of kicks";
  motion.predict(bodies.store, 0, 3, 0.5);
  EXPECT_EQ(bodies.store[bodies.now][1].y, 1);
  EXPECT_EQ(bodies.store[bodies.velocity][1].y, 0);
  const std::array kicked{Kick{1, 0.5}};
  bodies.store[bodies.acceleration][1] = {0, 6, 0};
  motion.kick(bodies.store, kicked);
  motion.settle(bodies.store, kicked);
  EXPECT_EQ(bodies.store[bodies.now][1].y, 3);
  EXPECT_EQ(bodies.store[bodies.now][2].y, 1) << "its step goes on";
}

}  // namespace
}  // namespace plait::particles::integrator_test
