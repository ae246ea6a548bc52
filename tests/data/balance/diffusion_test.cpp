// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/diffusion.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "plait/data/balance/objective.hpp"

#include "data/balance/grids.hpp"

namespace plait::data::balance {
namespace {

TEST(Diffusion, evens_out_a_steep_grid_and_keeps_neighbours_together) {
  const Problem problem = test::steep_problem({.side = 64, .ranks = 16, .steepness = 4, .seed = 3});
  const Score before = score(problem, present_placement(problem));
  const Decision decision = Diffusion{}.decide(problem);
  const Score after = score(problem, decision.placement);
  EXPECT_GT(before.imbalance(), 1.5);
  EXPECT_LT(after.imbalance(), 0.1);
  EXPECT_LT(after.bytes_between_ranks, 10 * 8064 * 0.3);  // at random, 15 of 16 of all bytes
  EXPECT_GT(decision.rounds, 60U);
  EXPECT_GT(decision.messages, decision.rounds * 2 * 16 / 2);
}

TEST(Diffusion, spreads_what_is_all_on_one_rank_where_nobody_talks) {
  Problem problem = test::grid_problem({.side = 32, .ranks = 37, .seed = 9});
  problem.edges.clear();
  for (Object& object : problem.objects) {
    object.rank = Rank{5};
  }
  const Score after = score(problem, Diffusion{}.decide(problem).placement);
  EXPECT_LT(after.imbalance(), 0.073);  // two objects
}

TEST(Diffusion, moves_what_it_must_and_little_else) {
  Problem problem = test::grid_problem({.side = 32, .ranks = 4});
  for (std::size_t i = 0; i < 16; ++i) {
    problem.objects[i].load = 2;  // 16 more on rank 0: it has 272 of 1040, 12 must go.
  }
  const Decision decision = Diffusion{}.decide(problem);
  const Score after = score(problem, decision.placement);
  EXPECT_LT(after.imbalance(), 1.0 / 260 + 1e-9);
  EXPECT_LE(after.objects_moved, 12U + 8U + 4U);  // hand on hand along the rows of ranks, or less around the ring
}

TEST(Diffusion, more_iterations_are_no_worse) {
  const Problem problem = test::steep_problem({.side = 32, .ranks = 13, .steepness = 5, .seed = 4});
  double last = 1e9;
  for (const std::uint32_t iterations : {1U, 2U, 4U, 8U, 16U}) {
    const double cost = score(problem, Diffusion{{.iterations = iterations}}.decide(problem).placement).cost_max;
    EXPECT_LE(cost, last) << iterations;
    last = cost;
  }
}

}  // namespace
}  // namespace plait::data::balance
