// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/balancers/bisection.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/data/balance/objective.hpp"

#include "data/balance/grids.hpp"

namespace plait::data::balance::bisection_test {
namespace {

TEST(Bisection, cuts_an_even_grid_into_squares) {
  Problem problem = test::grid_problem({.side = 16, .ranks = 16});
  problem.weights.between_ranks = 1e-3;  // So that squares are better than the rows that they are in now.
  const Placement placement = Bisection{}.decide(problem).placement;
  const Score found = score(problem, placement);
  EXPECT_DOUBLE_EQ(found.imbalance(), 0);
  EXPECT_DOUBLE_EQ(found.bytes_between_ranks, 10 * 6 * 16);  // three cuts along each axis, 16 edges each
}

TEST(Bisection, balances_steep_grids_on_any_number_of_ranks) {
  for (const std::uint32_t ranks : {2U, 3U, 7U, 16U}) {
    const Problem problem = test::steep_problem({.side = 64, .ranks = ranks, .steepness = 4, .seed = 5});
    const Score found = score(problem, Bisection{}.decide(problem).placement);
    EXPECT_LT(found.imbalance(), 0.12) << ranks << " ranks";
    EXPECT_LT(found.imbalance(), score(problem, present_placement(problem)).imbalance() / 4);
  }
}

TEST(Bisection, gives_boxes_that_do_not_overlap) {
  const Problem problem = test::steep_problem({.side = 32, .ranks = 11, .steepness = 3, .seed = 2});
  const Placement placement = Bisection{}.decide(problem).placement;
  struct Box {
    std::array<double, 2> low{1e9, 1e9};
    std::array<double, 2> high{-1e9, -1e9};
  };
  std::array<Box, 11> boxes;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    Box& box = boxes[placement[i].value()];
    for (std::size_t axis = 0; axis < 2; ++axis) {
      box.low[axis] = std::min(box.low[axis], problem.objects[i].position[axis]);
      box.high[axis] = std::max(box.high[axis], problem.objects[i].position[axis]);
    }
  }
  for (std::size_t a = 0; a < boxes.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      // A cut may go through a row of equal coordinates, so corners may share one column.
      const bool is_apart = boxes[a].high[0] <= boxes[b].low[0] || boxes[b].high[0] <= boxes[a].low[0] ||
                            boxes[a].high[1] <= boxes[b].low[1] || boxes[b].high[1] <= boxes[a].low[1];
      EXPECT_TRUE(is_apart) << a << " and " << b;
    }
  }
}

TEST(Bisection, moves_little_when_little_has_changed) {
  Problem problem = test::steep_problem({.side = 32, .ranks = 16, .steepness = 4, .seed = 3});
  const Placement first = Bisection{}.decide(problem).placement;
  for (std::size_t i = 0; i < problem.objects.size(); ++i) {
    problem.objects[i].rank = first[i];
  }
  EXPECT_EQ(score(problem, Bisection{}.decide(problem).placement).objects_moved, 0U);
}

TEST(Bisection, keeps_nodes_together_and_takes_objects_at_one_place) {
  Problem problem = test::grid_problem({.side = 16, .ranks = 4});
  problem.node_of_rank = {0, 1, 0, 1};
  problem.weights.between_nodes = 1e-3;
  const Score found = score(problem, Bisection{}.decide(problem).placement);
  EXPECT_DOUBLE_EQ(found.bytes_between_nodes, 160);  // one straight cut
  for (Object& object : problem.objects) {
    object.position = {};
  }
  EXPECT_DOUBLE_EQ(score(problem, Bisection{}.decide(problem).placement).imbalance(), 0);
}

}  // namespace
}  // namespace plait::data::balance::bisection_test
