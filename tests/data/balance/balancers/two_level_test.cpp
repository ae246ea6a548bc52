// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/balancers/two_level.hpp"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "plait/data/balance/balancers.hpp"
#include "plait/data/balance/objective.hpp"

#include "data/balance/grids.hpp"

namespace plait::data::balance::two_level_test {
namespace {

TEST(TwoLevel, lets_nothing_cross_between_nodes_that_are_even) {
  Problem problem = test::grid_problem({.side = 16, .ranks = 8});
  problem.node_of_rank = {0, 0, 0, 0, 1, 1, 1, 1};
  for (std::size_t i = 0; i < problem.objects.size(); ++i) {
    problem.objects[i].rank = Rank{i < 128 ? 1U : 6U};  // even nodes, uneven ranks
  }
  const Placement placement = make_balancer("two_level")->decide(problem).placement;
  EXPECT_DOUBLE_EQ(score(problem, placement).imbalance(), 0);
  for (std::size_t i = 0; i < placement.size(); ++i) {
    EXPECT_EQ(placement[i].value() / 4, i < 128 ? 0U : 1U);
  }
}

TEST(TwoLevel, gives_nodes_loads_in_proportion_to_their_ranks) {
  Problem problem = test::steep_problem({.side = 32, .ranks = 6, .steepness = 3, .seed = 8});
  problem.node_of_rank = {0, 0, 0, 0, 1, 1};
  const Score after = score(problem, make_balancer("two_level")->decide(problem).placement);
  EXPECT_LT(after.imbalance(), 0.02);
}

TEST(TwoLevel, makes_nodes_of_groups_and_takes_background_and_what_stays) {
  Problem problem = test::steep_problem({.side = 16, .ranks = 9, .steepness = 3, .seed = 8});
  problem.background.assign(9, 0.0);
  problem.background[4] = 3;
  problem.objects[0].is_migratable = false;
  const std::unique_ptr<Balancer> balancer = make_balancer("two_level:group=4,among=greedy,within=bisection");
  EXPECT_EQ(balancer->name(), "two_level:among=greedy,within=bisection,group=4");
  const Decision decision = balancer->decide(problem);
  EXPECT_EQ(decision.placement[0], problem.objects[0].rank);
  EXPECT_LT(score(problem, decision.placement).imbalance(), 0.2);
  EXPECT_GT(decision.rounds, 2U);
}

}  // namespace
}  // namespace plait::data::balance::two_level_test
