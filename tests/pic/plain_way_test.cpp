// SPDX-License-Identifier: Apache-2.0
#include "pic/parallel/plain_way.hpp"

#include <cmath>
#include <mutex>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

#include "pic/local_ranks.hpp"

namespace plain_way_test {
namespace {

using namespace pic;

struct Case {
  const char* problem;
  Solve solve;
  int order;
  std::vector<std::int32_t> cells;
};

ProblemOptions options_of(const Case& c, std::uint64_t steps) {
  ProblemOptions options;
  options.name = c.problem;
  options.cells = c.cells;
  options.steps = steps;
  options.solve = c.solve;
  options.order = c.order;
  options.particles_per_cell = 4;
  options.kernel = {.particles = 300, .k = 2, .m = 3};
  return options;
}

template <int D>
Totals totals_of(const Case& c, int ranks, int patches) {
  const std::uint64_t steps = 8;
  const Problem<D> problem = make_problem<D>(options_of(c, steps));
  Totals result;
  std::mutex mutex;
  test::on_ranks(ranks, [&](Ranks& self) {
    PlainWay<D> way{problem, {.patches_per_rank = patches}, self};
    for (std::uint64_t i = 0; i < steps; ++i) {
      way.step();
    }
    const Totals totals = way.totals();
    const double gauss = way.gauss_error();
    if (self.self() == 0) {
      result = totals;
      EXPECT_LT(gauss, c.solve == Solve::electrostatic ? 1e-7 : 1e-11);
    }
  });
  return result;
}

class AnyRanks : public ::testing::TestWithParam<Case> {};

TEST_P(AnyRanks, and_any_patches_give_the_same_bits) {
  const Case& c = GetParam();
  const auto run = [&](int ranks, int patches) {
    return c.cells.size() == 2 ? totals_of<2>(c, ranks, patches) : totals_of<3>(c, ranks, patches);
  };
  const Totals one = run(1, 1);
  EXPECT_GT(one.particles, 0U);
  for (const int ranks : {1, 2, 3, 4, 7}) {
    const Totals other = run(ranks, ranks == 4 ? 1 : 2 + ranks % 3);
    EXPECT_EQ(other.checksum, one.checksum) << ranks << " ranks";
    EXPECT_EQ(other.particles, one.particles);
    EXPECT_EQ(other.absorbed, one.absorbed);
    EXPECT_EQ(other.kinetic, one.kinetic);
    EXPECT_EQ(other.electric, one.electric);
    EXPECT_EQ(other.misplaced, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(PlainWay,
                         AnyRanks,
                         ::testing::Values(Case{"uniform", Solve::electromagnetic, 1, {14, 11}},
                                           Case{"uniform", Solve::electrostatic, 2, {14, 11}},
                                           Case{"plate", Solve::electromagnetic, 2, {14, 10}},
                                           Case{"plate", Solve::electrostatic, 1, {14, 10}},
                                           Case{"kernel", Solve::nothing, 1, {14, 10}},
                                           Case{"uniform", Solve::electromagnetic, 2, {7, 5, 4}},
                                           Case{"plate", Solve::electromagnetic, 1, {7, 8, 4}}));

TEST(PlainWay, conserves_energy_and_momentum) {
  OneRank one;
  const Case c{"uniform", Solve::electrostatic, 2, {16, 16}};
  PlainWay<2> way{make_problem<2>(options_of(c, 40)), {.patches_per_rank = 3}, one, {.tolerance = 1e-12}};
  const Totals before = way.totals();
  for (int i = 0; i < 40; ++i) {
    way.step();
  }
  const Totals after = way.totals();
  const double momentum_scale = std::sqrt(2 * before.kinetic * 16 * 16 * 0.01);  // mass of all is their volume
  EXPECT_NEAR(after.momentum_x, before.momentum_x, 1e-11 * momentum_scale) << "no force on itself, opposite ones";
  EXPECT_NEAR(after.energy(), before.energy(), 0.02 * before.energy());
}

template <int D>
void expect_gauss_law(const Case& c) {
  OneRank one;
  PlainWay<D> way{make_problem<D>(options_of(c, 60)), {.patches_per_rank = 2}, one};
  for (int i = 0; i < 60; ++i) {
    way.step();
  }
  EXPECT_LT(way.gauss_error(), 1e-11) << c.problem << " of order " << c.order << ", dimensions " << D;
}

TEST(PlainWay, keeps_gauss_law_with_currents_alone) {
  for (const char* const problem : {"uniform", "plate"}) {
    for (const int order : {1, 2}) {
      expect_gauss_law<2>({problem, Solve::electromagnetic, order, {12, 12}});
      expect_gauss_law<3>({problem, Solve::electromagnetic, order, {8, 5, 6}});
    }
  }
}

TEST(PlainWay, refuses_more_ranks_than_cells) {
  EXPECT_THROW(
      (Layout<2>{make_problem<2>(options_of({"uniform", Solve::electrostatic, 1, {2, 2}}, 1)).physics.grid, 5, 1}),
      plait::Error);
}

TEST(Problems, that_cannot_be_are_refused) {
  const Case good{"plate", Solve::electromagnetic, 1, {8, 8}};
  const auto refused = [&](auto change) {
    ProblemOptions options = options_of(good, 1);
    EXPECT_NO_THROW((void)make_problem<2>(options));
    change(options);
    EXPECT_THROW((void)make_problem<2>(options), plait::Error);
  };
  refused([](ProblemOptions& o) { o.name = "nothing"; });
  refused([](ProblemOptions& o) { o.cells = {8, 0}; });
  refused([](ProblemOptions& o) { o.cells = {8, 8, 8}; });
  refused([](ProblemOptions& o) { o.order = 3; });
  refused([](ProblemOptions& o) { o.time_step = 1; });
  refused([](ProblemOptions& o) { o.time_step = -1; });
  refused([](ProblemOptions& o) { o.plate = {0.5, 0.5}; });
  const double nan = std::nan("");
  refused([nan](ProblemOptions& o) { o.thermal = nan; });
  refused([](ProblemOptions& o) { o.thermal = 1e200; });
  refused([nan](ProblemOptions& o) { o.plate = {nan, 0.5}; });
  refused([nan](ProblemOptions& o) { o.time_step = nan; });
  refused([](ProblemOptions& o) { o.solve = Solve::electrostatic, o.time_step = 2; });
  refused([](ProblemOptions& o) { o.particles_per_cell = 1U << 21U; });
  refused([](ProblemOptions& o) { o.name = "two-stream", o.particles_per_cell = 3; });
}

TEST(Problems, of_the_kernel_that_cannot_be_are_refused) {
  const auto refused = [](auto change) {
    ProblemOptions options = options_of({"kernel", Solve::nothing, 1, {8, 8}}, 1);
    EXPECT_NO_THROW((void)make_problem<2>(options));
    change(options);
    EXPECT_THROW((void)make_problem<2>(options), plait::Error);
  };
  refused([](ProblemOptions& o) { o.kernel.particles = 0; });
  refused([](ProblemOptions& o) { o.cells = {7, 8}; });
  refused([](ProblemOptions& o) { o.solve = Solve::electrostatic; });
  refused([](ProblemOptions& o) { o.kernel.k = 2'000'000'000; });
  refused([](ProblemOptions& o) { o.kernel.m = -2'000'000'000; });
  refused([](ProblemOptions& o) { o.kernel.rho = 1e300; });
  refused([](ProblemOptions& o) {
    o.kernel.distribution = KernelProblem::Distribution::patch;
    o.kernel.patch = {{0, 0}, {9, 8}};
  });
  refused([](ProblemOptions& o) {
    o.kernel.distribution = KernelProblem::Distribution::linear;
    o.kernel.beta = std::nan("");
  });
}

}  // namespace
}  // namespace plain_way_test
