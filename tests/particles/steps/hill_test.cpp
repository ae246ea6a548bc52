// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/hill.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "plait/testing/run_program.hpp"

namespace plait::particles::hill_test {
namespace {

constexpr double frequency = 1.25;
constexpr double rate = 1.5 * frequency;

/// The square of the amplitude of a particle's epicycle, which is the same for all its images.
double epicycle2(const Vector& position, const Vector& velocity) {
  const double along = 2 * (velocity.y + rate * position.x);
  return (velocity.x * velocity.x + along * along) / (frequency * frequency);
}

/// A Runge-Kutta step of fourth order.
void integrate(Vector& position, Vector& velocity, double dt) {
  const auto pull = [](const Vector& p, const Vector& v) {
    const double w = frequency;
    return Vector{2 * w * v.y + 3 * w * w * p.x, -2 * w * v.x, -w * w * p.z};
  };
  const Vector v1 = velocity, a1 = pull(position, v1);
  const Vector v2 = velocity + (dt / 2) * a1, a2 = pull(position + (dt / 2) * v1, v2);
  const Vector v3 = velocity + (dt / 2) * a2, a3 = pull(position + (dt / 2) * v2, v3);
  const Vector v4 = velocity + dt * a3, a4 = pull(position + dt * v3, v4);
  position += (dt / 6) * (v1 + 2 * v2 + 2 * v3 + v4);
  velocity += (dt / 6) * (a1 + 2 * a2 + 2 * a3 + a4);
}

TEST(Epicycle, solves_hills_equations) {
  Vector position{0.3, -0.2, 0.1}, velocity{0.4, 0.5, -0.6};
  Vector expected = position, expected_velocity = velocity;
  for (int i = 0; i < 2000; ++i) {
    integrate(expected, expected_velocity, 0.001);
  }
  Epicycle{frequency, 2}.advance(position, velocity);
  EXPECT_LT(length(position - expected), 1e-11);
  EXPECT_LT(length(velocity - expected_velocity), 1e-11);
}

TEST(Epicycle, returns_after_a_turn_but_for_the_shear) {
  const double centre = 0.25;
  Vector position{centre + 0.1, 0, 0.2}, velocity{0, -rate * centre - 2 * frequency * 0.1, 0};
  const Vector before = position, velocity_before = velocity;
  const double turn = 2 * std::numbers::pi / frequency;
  Epicycle{frequency, turn}.advance(position, velocity);
  EXPECT_LT(length(position - before - Vector{0, -rate * centre * turn, 0}), 1e-14);
  EXPECT_LT(length(velocity - velocity_before), 1e-14);
}

class HillOnRanks : public testing::TestWithParam<std::uint32_t> {};

/// Particles in the flow, and others on epicycles, which cross all boundaries.
TEST_P(HillOnRanks, keeps_the_flow_and_the_energy_of_epicycles) {
  constexpr std::size_t count = 200;
  plait::test::run_program({.ranks = GetParam()}, {.worker_count = 1}, [](Runtime& runtime) {
    Particles store;
    const auto velocity = store.add_field<Vector>("velocity");
    const auto acceleration = store.add_field<Vector>("acceleration");
    const auto amplitude2 = store.add_field<double>("amplitude2");
    const Space space{.root = {{-0.5, -1, -1}, {0.5, 1, 1}},
                      .periodic = {true, true, false},
                      .shear = {.rate = rate, .velocity = velocity}};
    if (runtime.self() == Rank{0}) {
      std::mt19937_64 random{7};
      std::uniform_real_distribution<double> some{-0.5, 0.5};
      store.add(count);
      for (std::size_t i = 0; i < count; ++i) {
        const Vector p{some(random), 2 * some(random), some(random)};
        store.positions()[i] = p;
        store.ids()[i] = i;
        store[velocity][i] = Vector{0, -rate * p.x, 0};
        if (i % 2 != 0) {
          store[velocity][i] += Vector{some(random), some(random), some(random)};
        }
        store[amplitude2][i] = epicycle2(p, store[velocity][i]);
      }
    }
    System system{runtime.messages(), runtime.scheduler(), store, {.space = space}};
    constexpr double dt = 0.07;
    add_hill_leapfrog(system, {velocity, acceleration, frequency, dt});
    for (int step = 1; step <= 600; ++step) {  // 8 orbits
      system.set_time(step * dt);
      system.step();
    }
    for (std::size_t i = 0; i < store.size(); ++i) {
      const Vector& p = store.positions()[i];
      const Vector& v = store[velocity][i];
      EXPECT_TRUE(p.x >= -0.5 && p.x < 0.5 && p.y >= -1 && p.y < 1);
      EXPECT_NEAR(epicycle2(p, v), store[amplitude2][i], 1e-11);
      if (store.ids()[i] % 2 == 0) {
        EXPECT_NEAR(v.y, -rate * p.x, 1e-11);
        EXPECT_NEAR(v.x, 0, 1e-11);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, HillOnRanks, testing::Values(1U, 2U, 3U, 7U));

}  // namespace
}  // namespace plait::particles::hill_test
