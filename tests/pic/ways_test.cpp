// SPDX-License-Identifier: Apache-2.0
// All ways of running give what one rank gives, bit for bit, on any number of ranks.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pic/mpi/mpi_ranks.hpp"
#include "pic/parallel/checkpoint.hpp"
#include "pic/parallel/collection_way.hpp"
#include "pic/parallel/plain_way.hpp"

namespace pic {
namespace {

struct Case {
  const char* name;
  ProblemOptions problem;
  int patches_per_rank;
};

/// Fast particles, so that many change their patch, and some pass through whole patches in one step.
std::vector<Case> cases() {
  return {
      {"waves", {.name = "uniform", .cells = {24, 20}, .particles_per_cell = 4, .steps = 7, .thermal = 0.5}, 6},
      {"space", {.name = "uniform", .cells = {12, 12, 10}, .particles_per_cell = 2, .steps = 5, .thermal = 0.5}, 4},
      {"plate", {.name = "plate", .cells = {32, 20}, .particles_per_cell = 4, .steps = 9}, 8},
      {"electrostatic",
       {.name = "uniform",
        .cells = {24, 20},
        .particles_per_cell = 4,
        .steps = 5,
        .solve = Solve::electrostatic,
        .order = 2,
        .thermal = 0.5},
       5},
      {"far",
       {.name = "kernel",
        .cells = {32, 32},
        .steps = 7,
        .kernel = {.distribution = KernelProblem::Distribution::geometric, .particles = 2000, .k = 3, .m = 7}},
       9},
      {"one heavy patch",
       {.name = "kernel",
        .cells = {32, 32},
        .steps = 6,
        .kernel = {.distribution = KernelProblem::Distribution::patch, .particles = 1000, .patch = {{9, 9}, {12, 12}}}},
       4}};
}

template <int D>
void run(GridWay<D>& way, std::uint64_t steps) {
  while (way.steps_done() < steps) {
    way.step();
  }
}

template <int D>
void expect_equal(GridWay<D>& way, const Totals& expected, const std::string& name) {
  const Totals totals = way.totals();
  EXPECT_EQ(totals.checksum, expected.checksum) << name;
  EXPECT_EQ(totals.particles, expected.particles) << name;
  EXPECT_EQ(totals.absorbed, expected.absorbed) << name;
  EXPECT_EQ(totals.misplaced, 0U) << name;
}

/// The ranks of this run.
class Ways : public testing::Test {
 protected:
  template <int D>
  void compare(const Case& one) {
    SCOPED_TRACE(one.name);
    const Problem<D> problem = make_problem<D>(one.problem);
    OneRank alone;
    PlainWay<D> reference{problem, {.patches_per_rank = 3}, alone};
    run(reference, one.problem.steps);
    const Totals expected = reference.totals();
    BalanceOptions options{.patches_per_rank = one.patches_per_rank, .balance_steps = 3};
    for (const char* const balancer : {"", "greedy", "hypercube"}) {
      options.balancer = balancer;
      CollectionWay<D> collection{problem, options, runtime_, ranks_};
      run(collection, one.problem.steps);
      expect_equal(collection, expected, "collection " + options.balancer);
    }
    for (const char* const balancer : {"", "bisection"}) {
      options.balancer = balancer;
      PlainWay<D> plain{problem, options, ranks_};
      run(plain, one.problem.steps);
      expect_equal(plain, expected, "plain " + options.balancer);
    }
  }

  /// Goes on, in other patches and in either way by `index`, from what a run has saved half way.
  template <int D>
  void break_off(std::size_t index, const Case& one) {
    SCOPED_TRACE(one.name);
    const Problem<D> problem = make_problem<D>(one.problem);
    Problem<D> empty = problem;
    empty.starts_empty = true;
    const auto make = [&](bool is_plain, const Problem<D>& begin, int patches) -> std::unique_ptr<GridWay<D>> {
      const BalanceOptions options{.patches_per_rank = patches, .balancer = "greedy", .balance_steps = 2};
      if (is_plain) {
        return std::make_unique<PlainWay<D>>(begin, options, ranks_);
      }
      return std::make_unique<CollectionWay<D>>(begin, options, runtime_, ranks_);
    };
    const auto first = make(index % 2 == 0, problem, one.patches_per_rank);
    const auto second = make(index / 2 % 2 == 0, empty, 3);
    run(*first, one.problem.steps / 2);
    go_on(*second, to_checkpoint(*first, {}), ranks_);
    expect_equal(*second, first->totals(), "at once");
    run(*first, one.problem.steps);
    run(*second, one.problem.steps);
    expect_equal(*second, first->totals(), "at the end");
  }

  MpiRanks ranks_{MPI_COMM_WORLD};
  plait::Runtime runtime_{MPI_COMM_WORLD};
};

TEST_F(Ways, go_on_from_where_others_were) {
  const std::vector<Case> all = cases();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t index = i + static_cast<std::size_t>(ranks_.count());
    all[i].problem.cells.size() == 2 ? break_off<2>(index, all[i]) : break_off<3>(index, all[i]);
  }
}

TEST_F(Ways, balance_by_loads_that_were_read_before) {
  // Nearly all particles are in few columns. Still, a patch that was interrupted can be as heavy as all others, and
  // then nothing is gained by moving any: hence several attempts.
  CollectionWay<2> way{
      make_problem<2>(
          {.name = "kernel",
           .cells = {32, 32},
           .steps = 60,
           .kernel = {.distribution = KernelProblem::Distribution::geometric, .particles = 50'000, .rho = 0.6}}),
      {.patches_per_rank = 8, .balancer = "greedy", .balance_steps = 3},
      runtime_,
      ranks_};
  while (way.balancings().empty() && way.steps_done() < 60) {
    way.step();
    EXPECT_EQ(way.take_loads().empty(), way.local_patches().empty());
  }
  EXPECT_EQ(way.balancings().size(), ranks_.count() > 1 ? 1U : 0U);
}

TEST_F(Ways, give_the_same_bits_as_one_rank) {
  for (const Case& one : cases()) {
    one.problem.cells.size() == 2 ? compare<2>(one) : compare<3>(one);
  }
}

}  // namespace
}  // namespace pic

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  MPI_Finalize();
  return status;
}
