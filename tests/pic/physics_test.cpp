// SPDX-License-Identifier: Apache-2.0
// Whole problems against theory, coarse and short: seconds in all. Each runs on another number of ranks; that all give
// the same bits is tested in plain_way_test.cpp and ways_test.cpp.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pic/local_ranks.hpp"
#include "pic/parallel/plain_way.hpp"

namespace physics_test {
namespace {

using namespace pic;

ProblemOptions named(const char* name, std::vector<std::int32_t> cells, std::uint64_t steps) {
  ProblemOptions options;
  options.name = name;
  options.cells = std::move(cells);
  options.steps = steps;
  return options;
}

/// The electric energy after each step.
template <int D>
std::vector<double> electric_energies(const ProblemOptions& options, int ranks, double& step) {
  const Problem<D> problem = make_problem<D>(options);
  step = problem.physics.time_step;
  std::vector<double> energies;
  test::on_ranks(ranks, [&](Ranks& self) {
    PlainWay<D> way{problem, {.patches_per_rank = 2}, self};
    for (std::uint64_t i = 0; i < options.steps; ++i) {
      way.step();
      const double energy = way.solver().energies().electric;
      if (self.self() == 0) {
        energies.push_back(energy);
      }
    }
  });
  return energies;
}

/// Mean frequency of an oscillation's energy, halved, from its minima.
double frequency_of(const std::vector<double>& energies, double step) {
  std::vector<double> minima;
  for (std::size_t i = 1; i + 1 < energies.size(); ++i) {
    if (energies[i] < energies[i - 1] && energies[i] <= energies[i + 1]) {
      // The vertex of the parabola through three values.
      const double bend = energies[i - 1] - 2 * energies[i] + energies[i + 1];
      minima.push_back((static_cast<double>(i) + 0.5 * (energies[i - 1] - energies[i + 1]) / bend) * step);
    }
  }
  return minima.size() < 3
             ? 0
             : std::numbers::pi * static_cast<double>(minima.size() - 1) / (minima.back() - minima.front());
}

/// Growth rate of the amplitude, by least squares of the energy's logarithm between two levels.
double growth_of(const std::vector<double>& energies, double step, double from, double to) {
  double n = 0;
  double t = 0;
  double tt = 0;
  double y = 0;
  double ty = 0;
  for (std::size_t i = 0; i < energies.size() && energies[i] < to; ++i) {
    if (energies[i] >= from) {
      const double time = static_cast<double>(i) * step;
      const double value = 0.5 * std::log(energies[i]);
      n += 1;
      t += time;
      tt += time * time;
      y += value;
      ty += time * value;
    }
  }
  return n < 10 ? 0 : (n * ty - t * y) / (n * tt - t * t);
}

struct Case {
  const char* name;
  Solve solve;
  int order;
  std::vector<std::int32_t> cells;
  std::uint64_t steps;
  std::uint32_t per_cell;
  int ranks;
};

class Waves : public ::testing::TestWithParam<Case> {};

TEST_P(Waves, oscillate_at_the_plasma_frequency) {
  const Case& c = GetParam();
  ProblemOptions options = named("langmuir", c.cells, c.steps);
  options.solve = c.solve;
  options.order = c.order;
  options.particles_per_cell = c.per_cell;
  double step = 0;
  const std::vector<double> energies =
      c.cells.size() == 2 ? electric_energies<2>(options, c.ranks, step) : electric_energies<3>(options, c.ranks, step);
  EXPECT_NEAR(frequency_of(energies, step), 1.0, 0.03);
}

INSTANTIATE_TEST_SUITE_P(Physics,
                         Waves,
                         ::testing::Values(Case{"es1", Solve::electrostatic, 1, {32, 4}, 200, 4, 3},
                                           Case{"es2", Solve::electrostatic, 2, {32, 4}, 200, 4, 1},
                                           Case{"em1", Solve::electromagnetic, 1, {32, 4}, 300, 4, 7},
                                           Case{"em2", Solve::electromagnetic, 2, {32, 4}, 300, 4, 2},
                                           Case{"em3d", Solve::electromagnetic, 1, {16, 3, 3}, 350, 8, 4},
                                           Case{"es3d", Solve::electrostatic, 2, {16, 3, 3}, 150, 8, 1}),
                         [](const auto& one) { return std::string{one.param.name}; });

class Streams : public ::testing::TestWithParam<Case> {};

TEST_P(Streams, grow_as_theory_says) {
  const Case& c = GetParam();
  ProblemOptions options = named("two-stream", c.cells, c.steps);
  options.solve = c.solve;
  options.order = c.order;
  options.particles_per_cell = c.per_cell;
  double step = 0;
  const std::vector<double> energies = electric_energies<2>(options, c.ranks, step);
  const double first = energies.front();
  EXPECT_NEAR(growth_of(energies, step, 30 * first, 3e4 * first) * std::sqrt(8.0), 1.0, 0.03);
}

INSTANTIATE_TEST_SUITE_P(Physics,
                         Streams,
                         ::testing::Values(Case{"es1", Solve::electrostatic, 1, {64, 2}, 250, 8, 2},
                                           Case{"es2", Solve::electrostatic, 2, {64, 2}, 250, 8, 1},
                                           Case{"em2", Solve::electromagnetic, 2, {32, 2}, 3000, 8, 3}),
                         [](const auto& one) { return std::string{one.param.name}; });

TEST(Kernel, ends_exactly_where_it_should) {
  using enum KernelProblem::Distribution;
  for (const auto& [distribution, ranks] : {std::pair{geometric, 7}, {sinusoidal, 4}, {linear, 3}, {patch, 2}}) {
    ProblemOptions options = named("kernel", {20, 14}, 50);
    options.kernel = {
        .distribution = distribution, .particles = 2000, .k = 3, .m = -2, .rho = 0.9, .patch = {{2, 3}, {9, 6}}};
    const Problem<2> problem = make_problem<2>(options);
    test::on_ranks(ranks, [&problem](Ranks& self) {
      PlainWay<2> way{problem, {.patches_per_rank = 4}, self};
      const std::uint64_t before = way.totals().particles;
      EXPECT_NEAR(static_cast<double>(before), 2000, 200);
      for (int i = 0; i < 50; ++i) {
        way.step();
      }
      EXPECT_EQ(way.totals().misplaced, 0U);
      EXPECT_EQ(way.totals().particles, before);
    });
  }
}

TEST(Kernel, sees_a_particle_that_is_not_where_it_should_be) {
  ProblemOptions options = named("kernel", {20, 14}, 2);
  options.kernel = {.particles = 2000, .k = 1};
  const Problem<2> problem = make_problem<2>(options);
  Patch<2> patch{problem.physics.grid.cell_box(), problem.physics};
  problem.load(patch);
  EXPECT_EQ(problem.count_misplaced(patch, 0), 0U);
  patch.species[0].position[0][0] += 1e-4;
  EXPECT_EQ(problem.count_misplaced(patch, 0), 1U);
}

}  // namespace
}  // namespace physics_test
