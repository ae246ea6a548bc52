// SPDX-License-Identifier: Apache-2.0
// All ways of running give what one rank gives, bit for bit, on any number of ranks.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pic/mpi/mpi_ranks.hpp"
#include "pic/parallel/checkpoint.hpp"
#include "pic/parallel/collection_way.hpp"
#include "pic/parallel/synchronous_way.hpp"

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
      {"waves", {.name = "uniform", .cells = {24, 20}, .particles_per_cell = 4, .steps = 9, .thermal = 0.5}, 6},
      {"space", {.name = "uniform", .cells = {12, 12, 10}, .particles_per_cell = 2, .steps = 5, .thermal = 0.5}, 4},
      {"plate", {.name = "plate", .cells = {32, 20}, .particles_per_cell = 4, .steps = 12}, 8},
      {"electrostatic",
       {.name = "uniform",
        .cells = {24, 20},
        .particles_per_cell = 4,
        .steps = 6,
        .solve = Solve::electrostatic,
        .order = 2,
        .thermal = 0.5},
       5},
      {"far",
       {.name = "kernel",
        .cells = {32, 32},
        .steps = 9,
        .kernel = {.distribution = KernelProblem::Distribution::geometric, .particles = 2000, .k = 3, .m = 7}},
       9},
      {"one heavy patch",
       {.name = "kernel",
        .cells = {32, 32},
        .steps = 6,
        .kernel = {.distribution = KernelProblem::Distribution::patch, .particles = 1000, .patch = {{9, 9}, {12, 12}}}},
       4}};
}

template <int D, class Make>
Totals totals_of(const Case& one, Make make) {
  auto way = make(make_problem<D>(one.problem));
  for (std::uint64_t step = 0; step < one.problem.steps; ++step) {
    way->step();
  }
  return way->totals();
}

template <int D>
void compare(const Case& one) {
  SCOPED_TRACE(one.name);
  OneRank alone;
  const Totals expected =
      totals_of<D>(one, [&](Problem<D> problem) { return std::make_unique<StaticWay<D>>(problem, 3, alone); });
  MpiRanks ranks{MPI_COMM_WORLD};
  const auto check = [&](const Totals& totals, const std::string& way) {
    EXPECT_EQ(totals.checksum, expected.checksum) << way;
    EXPECT_EQ(totals.particles, expected.particles) << way;
    EXPECT_EQ(totals.absorbed, expected.absorbed) << way;
    EXPECT_EQ(totals.misplaced, 0U) << way;
  };
  plait::Runtime runtime{MPI_COMM_WORLD};
  for (const char* const balancer : {"", "greedy", "diffusion"}) {
    const BalanceOptions options{.patches_per_rank = one.patches_per_rank, .balancer = balancer, .balance_steps = 3};
    check(totals_of<D>(
              one,
              [&](Problem<D> problem) { return std::make_unique<CollectionWay<D>>(problem, options, runtime, ranks); }),
          std::string{"collection "} + balancer);
  }
  for (const char* const balancer : {"", "bisection"}) {
    const BalanceOptions options{.patches_per_rank = one.patches_per_rank, .balancer = balancer, .balance_steps = 3};
    check(totals_of<D>(
              one, [&](Problem<D> problem) { return std::make_unique<SynchronousWay<D>>(problem, options, ranks); }),
          std::string{"synchronous "} + balancer);
  }
}

/// Goes on, in other patches, from what a run has put down half way.
template <int D>
void break_off(const Case& one) {
  SCOPED_TRACE(one.name);
  MpiRanks ranks{MPI_COMM_WORLD};
  plait::Runtime runtime{MPI_COMM_WORLD};
  const Problem<D> problem = make_problem<D>(one.problem);
  Problem<D> empty = problem;
  empty.starts_empty = true;
  const BalanceOptions options{.patches_per_rank = one.patches_per_rank, .balancer = "greedy", .balance_steps = 2};
  const BalanceOptions others{.patches_per_rank = 3, .balancer = "greedy", .balance_steps = 3};
  const auto make = [&](const Problem<D>& what, const BalanceOptions& how) {
    std::vector<std::unique_ptr<GridWay<D>>> ways;
    ways.push_back(std::make_unique<StaticWay<D>>(what, how.patches_per_rank, ranks));
    ways.push_back(std::make_unique<SynchronousWay<D>>(what, how, ranks));
    ways.push_back(std::make_unique<CollectionWay<D>>(what, how, runtime, ranks));
    return ways;
  };
  const auto run = [&](GridWay<D>& way, std::uint64_t steps) {
    while (way.steps_done() < steps) {
      way.step();
    }
  };
  auto before = make(problem, options);
  auto after = make(empty, others);
  for (std::size_t i = 0; i < before.size(); ++i) {
    run(*before[i], one.problem.steps / 2);
    GridWay<D>& other = *after[(i + 1) % after.size()];
    go_on(other, to_checkpoint(*before[i], {}), ranks);
    EXPECT_EQ(other.totals().checksum, before[i]->totals().checksum) << "at once, from way " << i;
    EXPECT_EQ(other.totals().absorbed, before[i]->totals().absorbed);
    run(*before[i], one.problem.steps);
    run(other, one.problem.steps);
    EXPECT_EQ(other.totals().checksum, before[i]->totals().checksum) << "at the end, from way " << i;
    EXPECT_EQ(other.totals().absorbed, before[i]->totals().absorbed);
  }
}

TEST(Ways, go_on_from_where_others_were) {
  for (const Case& one : cases()) {
    one.problem.cells.size() == 2 ? break_off<2>(one) : break_off<3>(one);
  }
}

TEST(Ways, give_the_same_bits_as_one_rank) {
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
