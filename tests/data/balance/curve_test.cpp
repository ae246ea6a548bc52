// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/curve.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/data/balance/objective.hpp"

#include "data/balance/grids.hpp"

namespace plait::data::balance {
namespace {

double largest_part(const std::vector<double>& loads,
                    const std::vector<double>& background,
                    const std::vector<std::size_t>& ends) {
  double most = 0;
  std::size_t at = 0;
  for (std::size_t part = 0; part < ends.size(); ++part) {
    EXPECT_LE(at, ends[part]);
    most = std::max(most,
                    std::accumulate(loads.begin() + static_cast<std::ptrdiff_t>(at),
                                    loads.begin() + static_cast<std::ptrdiff_t>(ends[part]),
                                    background[part]));
    at = ends[part];
  }
  EXPECT_EQ(at, loads.size());
  return most;
}

/// By trying all last parts, of all beginnings of the row.
double best_by_trying(const std::vector<double>& loads, const std::vector<double>& background) {
  std::vector<double> best(loads.size() + 1, std::numeric_limits<double>::infinity());
  best[0] = 0;
  for (const double own : background) {
    std::vector<double> next(loads.size() + 1, std::numeric_limits<double>::infinity());
    for (std::size_t end = 0; end <= loads.size(); ++end) {
      double sum = own;
      for (std::size_t begin = end;; --begin) {
        next[end] = std::min(next[end], std::max(best[begin], sum));
        if (begin == 0) {
          break;
        }
        sum += loads[begin - 1];
      }
    }
    best = next;
  }
  return best.back();
}

TEST(SplitRow, is_as_good_as_any_split_of_random_rows) {
  Random random{7};
  for (int repeat = 0; repeat < 400; ++repeat) {
    std::vector<double> loads(random.below(30));
    std::vector<double> background(1 + random.below(6));
    for (double& load : loads) {
      load = random.happens(0.3) ? 0.1 : random.unit();  // Equal ones, whose sums are rounded, among others.
    }
    for (double& own : background) {
      own = random.happens(0.5) ? 0 : 3 * random.unit();
    }
    const double found = largest_part(loads, background, split_row(loads, background));
    const double best = std::max(best_by_trying(loads, background), std::ranges::max(background));
    ASSERT_NEAR(found, best, 1e-9) << "repeat " << repeat;
  }
}

TEST(SplitRow, gives_equal_loads_in_equal_numbers) {
  for (const std::size_t parts : {1U, 3U, 7U, 1024U}) {
    const std::vector<double> loads(parts * 10, 0.1);
    const std::vector<double> background(parts, 0.0);
    const std::vector<std::size_t> ends = split_row(loads, background);
    for (std::size_t part = 0; part < parts; ++part) {
      ASSERT_EQ(ends[part], 10 * (part + 1)) << parts << " parts";
    }
  }
}

TEST(Curve, balances_a_steep_grid_and_keeps_neighbours_together) {
  const Problem problem = test::steep_problem({.side = 32, .ranks = 16, .steepness = 4, .seed = 3});
  const Score before = score(problem, present_placement(problem));
  const Score optimal = score(problem, Curve{}.decide(problem).placement);
  const Score usual = score(problem, Curve{{.split = CurveOptions::Split::proportional}}.decide(problem).placement);
  EXPECT_GT(before.imbalance(), 1.5);
  EXPECT_LT(optimal.imbalance(), 0.02);
  EXPECT_LE(optimal.imbalance(), usual.imbalance());
  // 1984 edges: at random, 15 of 16 would be between ranks.
  EXPECT_LT(optimal.bytes_between_ranks, 10 * 1984 * 0.3);
}

TEST(Curve, moves_little_when_little_has_changed) {
  Problem problem = test::steep_problem({.side = 32, .ranks = 16, .steepness = 4, .seed = 3});
  const Placement first = Curve{}.decide(problem).placement;
  for (std::size_t i = 0; i < problem.objects.size(); ++i) {
    problem.objects[i].rank = first[i];
  }
  EXPECT_EQ(score(problem, Curve{}.decide(problem).placement).objects_moved, 0U);
  Random random{1};
  for (Object& object : problem.objects) {
    object.load *= 0.99 + 0.02 * random.unit();
  }
  EXPECT_LT(score(problem, Curve{}.decide(problem).placement).objects_moved, 100U);
}

TEST(Curve, leaves_what_cannot_move_and_what_has_no_load) {
  Problem problem = test::steep_problem({.side = 8, .ranks = 4, .steepness = 4});
  problem.objects[5].is_migratable = false;
  problem.background = {5, 0, 0, 0};
  const Decision decision = Curve{}.decide(problem);
  EXPECT_EQ(decision.placement[5], problem.objects[5].rank);
  EXPECT_LT(score(problem, decision.placement).imbalance(), 0.1);
  for (Object& object : problem.objects) {
    object.load = 0;
  }
  EXPECT_EQ(Curve{}.decide(problem).placement, present_placement(problem));
}

TEST(Curve, keeps_within_the_memory_of_ranks) {
  Problem problem = test::steep_problem({.side = 8, .ranks = 4, .steepness = 6});
  problem.memory_max = 20'000;  // 64 objects of 1000 bytes on four ranks
  const Placement placement = Curve{}.decide(problem).placement;
  const Score found = score(problem, placement);
  EXPECT_LE(found.memory_max, 20'000);
  EXPECT_LT(found.imbalance(), score(problem, present_placement(problem)).imbalance());
  problem.memory_max = 1;  // None can: nobody gets more than it has.
  EXPECT_LE(score(problem, Curve{}.decide(problem).placement).memory_max, 16'000);
}

}  // namespace
}  // namespace plait::data::balance
