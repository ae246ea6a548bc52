// SPDX-License-Identifier: Apache-2.0
#include "pic/patch.hpp"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/base/random.hpp"

#include "pic/detail/shape.hpp"

namespace patch_test {
namespace {

using namespace pic;

template <int D>
Physics<D> laws(std::int32_t cells, int order, Solve solve) {
  Physics<D> physics;
  physics.grid.cells.fill(cells);
  physics.grid.spacing.fill(0.5);
  physics.grid.particles.fill({ParticleBorder::periodic, ParticleBorder::periodic});
  physics.time_step = 0.25;
  physics.order = order;
  physics.solve = solve;
  physics.species = {{"electrons", -1, -1}, {"heavy", 2, 0.1}};
  physics.choose_quantum(1000);
  physics.check();
  return physics;
}

template <int D>
Migrant<D> particle(double place, const Vector3& momentum, std::uint64_t species = 0) {
  Migrant<D> one{.id = 5, .momentum = momentum, .species = species};
  one.position.fill(place);
  return one;
}

template <int Order>
void expect_shares_are_right() {
  plait::Random random{3};
  for (int i = 0; i < 200; ++i) {
    const double x = 20 * random.unit() - 10;
    detail::Shares<Order> shares;
    detail::set_shares<Order>(shares, x);
    double sum = 0;
    double first = 0;
    for (std::size_t k = 0; k <= Order; ++k) {
      EXPECT_GE(shares.share[k], 0);
      sum += shares.share[k];
      first += shares.share[k] * (shares.base + static_cast<double>(k));
    }
    EXPECT_NEAR(sum, 1, 1e-15);
    EXPECT_NEAR(first, x, 1e-14);
    detail::Shares<Order> moved;
    detail::set_shares<Order>(moved, x + 2 * random.unit() - 1);
    detail::ShareChange<Order + 2> change;
    detail::set_change<Order>(change, shares, moved);
    double sum_of_changes = 0;
    for (const double one : change.change) {
      sum_of_changes += one;
    }
    EXPECT_NEAR(sum_of_changes, 0, 1e-15);
  }
}

TEST(Shape, shares_sum_to_one_about_the_particle) {
  expect_shares_are_right<1>();
  expect_shares_are_right<2>();
}

/// Random particles in the middle of one patch; charges before and after a step, and what flowed between.
template <int D>
void expect_continuity(int order) {
  const Physics<D> physics = laws<D>(12, order, Solve::electromagnetic);
  Patch<D> patch{physics.grid.cell_box(), physics};
  plait::Random random{11};
  const int count = 40;
  for (int i = 0; i < count; ++i) {
    Migrant<D> one{.id = static_cast<std::uint64_t>(i), .species = static_cast<std::uint64_t>(i % 2)};
    for (double& x : one.position) {
      x = 3 + 6 * random.unit();
    }
    for (double& u : one.momentum) {
      u = 10 * (random.unit() - 0.5);
    }
    patch.take({&one, 1});
  }
  patch.deposit_charge(physics);
  const Tile<D, Quanta> before = patch.charge;
  std::vector<Migrant<D>> leavers;
  patch.advance(physics, leavers);
  ASSERT_TRUE(leavers.empty());
  patch.deposit_charge(physics);
  Quanta worst = 0;
  Quanta largest = 0;
  for_each_place(patch.charge.box().grown(-1, 0), [&](const Place<D>& node) {
    Quanta sum = patch.charge[node] - before[node];
    for (int d = 0; d < D; ++d) {
      Place<D> below = node;
      --below[d];
      sum += patch.current[node][static_cast<std::size_t>(d)] - patch.current[below][static_cast<std::size_t>(d)];
    }
    worst = std::max(worst, std::abs(sum));
    largest = std::max(largest, std::abs(patch.charge[node] - before[node]));
  });
  EXPECT_GT(largest, Quanta{1} << 30U);
  EXPECT_LE(worst, 4 * count) << "a few roundings a particle";
}

TEST(Deposit, currents_satisfy_continuity_to_rounding) {
  expect_continuity<2>(1);
  expect_continuity<2>(2);
  expect_continuity<3>(1);
  expect_continuity<3>(2);
}

TEST(Deposit, charges_sum_to_those_of_the_particles) {
  const Physics<2> physics = laws<2>(8, 2, Solve::electrostatic);
  Patch<2> patch{physics.grid.cell_box(), physics};
  const std::array<Migrant<2>, 3> some{particle<2>(1.3, {}), particle<2>(7.99, {}), particle<2>(4.5, {}, 1)};
  patch.take(some);
  patch.deposit_charge(physics);
  Quanta sum = 0;
  for (std::size_t i = 0; i < patch.charge.size(); ++i) {
    sum += patch.charge.data()[i];
  }
  EXPECT_NEAR(static_cast<double>(sum) * physics.quantum, -1 - 1 + 2, 1e-11);
}

TEST(Push, turns_in_a_magnetic_field_without_gaining_energy) {
  Physics<2> physics = laws<2>(1000, 1, Solve::electrostatic);
  physics.magnetic_field = {0, 0, 0.8};
  physics.time_step = 0.05;
  Patch<2> patch{{{480, 480}, {520, 520}}, physics};
  const Vector3 start{1.5, 0, 0.5};
  const Migrant<2> one = particle<2>(500, start);
  patch.take({&one, 1});
  const double gamma = std::sqrt(1 + 1.5 * 1.5 + 0.25);
  const double period = 2 * std::numbers::pi * gamma / 0.8;
  std::vector<Migrant<2>> leavers;
  const auto& u = patch.species[0].momentum;
  double turned = 0;
  double angle = 0;
  const int steps = 2000;
  for (int i = 0; i < steps; ++i) {
    patch.advance(physics, leavers);
    const double now = std::atan2(u[1][0], u[0][0]);
    turned += std::remainder(now - angle, 2 * std::numbers::pi);
    angle = now;
  }
  ASSERT_TRUE(leavers.empty());
  EXPECT_NEAR(u[0][0] * u[0][0] + u[1][0] * u[1][0] + u[2][0] * u[2][0], 2.5, 1e-12);
  EXPECT_NEAR(turned / (steps * 0.05) * period / (2 * std::numbers::pi), 1, 1e-3) << "an electron turns left";
}

TEST(Push, drifts_across_crossed_fields) {
  Physics<3> physics = laws<3>(400, 2, Solve::electrostatic);
  physics.magnetic_field = {0, 0, 1};
  physics.time_step = 0.05;
  Patch<3> patch{{{190, 150, 199}, {210, 210, 202}}, physics};
  patch.fields.fill({0.02, 0, 0, 0, 0, 0});
  const Migrant<3> one = particle<3>(200, {});
  patch.take({&one, 1});
  std::vector<Migrant<3>> leavers;
  const int steps = 5027;  // 40 periods
  for (int i = 0; i < steps; ++i) {
    patch.advance(physics, leavers);
  }
  ASSERT_TRUE(leavers.empty());
  EXPECT_NEAR((patch.species[0].position[1][0] - 200) * 0.5 / (steps * 0.05), -0.02, 2e-4);
}

/// Where one particle of an electrostatic patch is after a step without fields, or what it became.
struct Ended {
  std::vector<Migrant<2>> leavers;
  Patch<2> patch;
};
Ended after_a_step(const Physics<2>& physics, const Box<2>& cells, const Migrant<2>& one) {
  Ended ended{.patch = Patch<2>{cells, physics}};
  ended.patch.take({&one, 1});
  ended.patch.advance(physics, ended.leavers);
  return ended;
}

TEST(Borders, particles_leave_for_any_patch_in_one_step) {
  Physics<2> physics = laws<2>(16, 1, Solve::electrostatic);
  physics.time_step = 10;  // up to 20 cells
  const Box<2> cells{{4, 4}, {8, 8}};
  const double u = 0.5 / std::sqrt(1 - 0.5 * 0.5);  // 10 cells along x
  const Ended ended = after_a_step(physics, cells, particle<2>(7.5, {u, 0, 0}));
  ASSERT_EQ(ended.leavers.size(), 1U);
  EXPECT_EQ(ended.patch.particle_count(), 0U);
  EXPECT_NEAR(ended.leavers[0].position[0], 1.5, 1e-12) << "through the periodic border";
  const auto departures = by_part<2>(ended.leavers, Division<2>{{16, 16}, {4, 4}});
  ASSERT_EQ(departures.size(), 1U);
  EXPECT_EQ(departures[0].part, 4);
  EXPECT_EQ(departures[0].particles[0].id, 5U);

  const Ended round = after_a_step(physics, {{0, 0}, {16, 16}}, particle<2>(7.5, {u, 0, 0}));
  EXPECT_TRUE(round.leavers.empty()) << "back in the same patch";
  EXPECT_NEAR(round.patch.species[0].position[0][0], 1.5, 1e-12);
}

TEST(Borders, walls_absorb_or_reflect) {
  Physics<2> physics = laws<2>(16, 1, Solve::electrostatic);
  physics.grid.fields[0] = FieldBorder::conducting;
  physics.grid.particles[0] = {ParticleBorder::absorbing, ParticleBorder::reflecting};
  physics.time_step = 2;  // 2 cells at half the speed of light
  const double u = 0.5 / std::sqrt(1 - 0.5 * 0.5);
  const Box<2> all{{0, 0}, {16, 16}};
  const Ended reflected = after_a_step(physics, all, particle<2>(15.5, {u, 0, 0}));
  ASSERT_EQ(reflected.patch.particle_count(), 1U);
  EXPECT_NEAR(reflected.patch.species[0].position[0][0], 14.5, 1e-12);
  EXPECT_NEAR(reflected.patch.species[0].momentum[0][0], -u, 1e-15);
  const Ended absorbed = after_a_step(physics, all, particle<2>(0.5, {-u, 0, 0}));
  EXPECT_EQ(absorbed.patch.particle_count(), 0U);
  EXPECT_EQ(absorbed.patch.absorbed, 1U);
  EXPECT_TRUE(absorbed.leavers.empty());
  const Ended on_the_wall = after_a_step(physics, all, particle<2>(14, {u, 0, 0}));
  ASSERT_EQ(on_the_wall.patch.particle_count(), 1U);
  EXPECT_LT(on_the_wall.patch.species[0].position[0][0], 16);
}

TEST(Patch, names_the_particle_that_a_bad_field_meets) {
  const Physics<2> physics = laws<2>(8, 1, Solve::electromagnetic);
  Patch<2> patch{physics.grid.cell_box(), physics};
  const Migrant<2> one = particle<2>(3.5, {});
  patch.take({&one, 1});
  patch.fields[{3, 3}][1] = std::nan("");
  std::vector<Migrant<2>> leavers;
  try {
    patch.advance(physics, leavers);
    FAIL() << "no error";
  } catch (const plait::Error& error) {
    EXPECT_NE(std::string{error.what()}.find("particle 5 of species electrons in cell (3, 3)"), std::string::npos)
        << error.what();
  }
}

TEST(Patch, keeps_its_checksum_when_sorted_and_loses_it_when_anything_changes) {
  const Physics<2> physics = laws<2>(8, 1, Solve::electrostatic);
  Patch<2> patch{physics.grid.cell_box(), physics};
  plait::Random random{2};
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Migrant<2> one{.id = i, .position = {8 * random.unit(), 8 * random.unit()}, .species = i % 2};
    patch.take({&one, 1});
  }
  const std::uint64_t before = patch.checksum();
  patch.sort_by_cell();
  EXPECT_EQ(patch.checksum(), before);
  const auto& x = patch.species[0].position;
  for (std::size_t i = 1; i < x[0].size(); ++i) {
    EXPECT_LE(std::floor(x[1][i - 1]) * 8 + std::floor(x[0][i - 1]), std::floor(x[1][i]) * 8 + std::floor(x[0][i]));
  }
  patch.species[1].momentum[2][3] = 1e-300;
  EXPECT_NE(patch.checksum(), before);
}

TEST(Quanta, are_the_nearest_integers) {
  for (const double value : {0.0, 0.4, -0.6, 1e12 + 0.4, -3e14, 2e15}) {
    EXPECT_EQ(to_quanta(value), static_cast<Quanta>(std::nearbyint(value)));
  }
}

}  // namespace
}  // namespace patch_test
