// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/objective.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::data::balance::objective_test {
namespace {

/// Objects of these loads, 10 bytes each, all on rank 0.
Problem on_first_rank(const std::vector<double>& loads, std::uint32_t ranks) {
  Problem problem;
  problem.rank_count = ranks;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    problem.objects.push_back({.id = ElementId{i}, .rank = Rank{0}, .load = loads[i], .bytes = 10});
  }
  return problem;
}

TEST(Objective, counts_loads_bytes_and_moves) {
  Problem problem = on_first_rank({3, 2, 1}, 3);
  problem.background = {0, 0, 1};
  problem.edges = {{0, 1, 100}, {1, 2, 7}, {0, 2, 1}};
  problem.node_of_rank = {0, 0, 1};
  problem.weights = {.between_ranks = 0.01, .between_nodes = 0.1, .moved = 0.001};
  const Placement placement{Rank{0}, Rank{1}, Rank{2}};
  const Score found = score(problem, placement);
  EXPECT_DOUBLE_EQ(found.load_max, 3);
  EXPECT_DOUBLE_EQ(found.load_mean, 7.0 / 3);
  EXPECT_DOUBLE_EQ(found.imbalance(), 9.0 / 7 - 1);
  EXPECT_DOUBLE_EQ(found.bytes_between_ranks, 108);
  EXPECT_DOUBLE_EQ(found.bytes_between_nodes, 8);
  EXPECT_EQ(found.objects_moved, 2U);
  EXPECT_DOUBLE_EQ(found.bytes_moved, 20);
  EXPECT_DOUBLE_EQ(found.memory_max, 10);
  const std::vector<double> costs = rank_costs(problem, placement);
  EXPECT_DOUBLE_EQ(costs[0], 3 + 1.0 + 0.1 + 0.02);  // 100 bytes in the node, 1 out of it, two objects left
  EXPECT_DOUBLE_EQ(costs[1], 2 + 1.0 + 0.7 + 0.01);
  EXPECT_DOUBLE_EQ(costs[2], 2 + 0.7 + 0.1 + 0.01);
  EXPECT_DOUBLE_EQ(found.cost_max, costs[0]);
}

TEST(Objective, bounds_the_largest_load) {
  EXPECT_DOUBLE_EQ(load_bound(on_first_rank({2, 2, 2}, 3)), 2);        // the mean
  EXPECT_DOUBLE_EQ(load_bound(on_first_rank({9, 1, 1}, 3)), 9);        // the heaviest
  EXPECT_DOUBLE_EQ(load_bound(on_first_rank({3, 3, 3, 3}, 3)), 6);     // two of four must meet
  EXPECT_DOUBLE_EQ(load_bound(on_first_rank({5, 4, 3, 1, 1}, 2)), 7);  // two of the three heaviest
  Problem stuck = on_first_rank({1, 1, 1, 1}, 2);
  stuck.background = {0, 3};
  EXPECT_DOUBLE_EQ(load_bound(stuck), 3.5);
  stuck.background = {0, 9};
  EXPECT_DOUBLE_EQ(load_bound(stuck), 9);
  stuck.objects[0].is_migratable = stuck.objects[1].is_migratable = stuck.objects[2].is_migratable = false;
  stuck.background = {1, 0};
  EXPECT_DOUBLE_EQ(load_bound(stuck), 4);
}

TEST(Objective, refuses_what_makes_no_sense) {
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::string, std::function<void(Problem&)>>> cases{
      {"load of object 1 is nan", [&](Problem& p) { p.objects[1].load = not_a_number; }},
      {"load of object 0 is -1", [](Problem& p) { p.objects[0].load = -1; }},
      {"bytes of object 0 is inf", [](Problem& p) { p.objects[0].bytes = HUGE_VAL; }},
      {"object 1 is on rank 7", [](Problem& p) { p.objects[1].rank = Rank{7}; }},
      {"position of object 1", [&](Problem& p) { p.objects[1].position[2] = not_a_number; }},
      {"objects 0 and 9", [](Problem& p) { p.edges.push_back({0, 9, 1}); }},
      {"background load of rank 1 is nan", [&](Problem& p) { p.background = {0, not_a_number}; }},
      {"background loads of 3 ranks", [](Problem& p) { p.background = {0, 0, 0}; }},
      {"nodes of 1 ranks", [](Problem& p) { p.node_of_rank = {0}; }},
      {"nodes of ranks", [](Problem& p) { p.node_of_rank = {0, 7}; }},
      {"no rank", [](Problem& p) { p.rank_count = 0; }},
      {"memory of a rank", [](Problem& p) { p.memory_max = 0; }},
  };
  for (const auto& [words, spoil] : cases) {
    Problem problem = on_first_rank({1, 2}, 2);
    check(problem);
    spoil(problem);
    try {
      check(problem);
      ADD_FAILURE() << "let pass: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_argument);
      EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace plait::data::balance::objective_test
