// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/zoltan/zoltan.hpp"

#include <algorithm>
#include <memory>
#include <span>

#include <gtest/gtest.h>
#include <mpi.h>

#include "plait/base/error.hpp"
#include "plait/data/balance/balancers/bisection.hpp"
#include "plait/data/balance/objective.hpp"
#include "plait/data/balance/zoltan/entries.hpp"

#include "data/balance/grids.hpp"

namespace plait::data::balance {
namespace {

TEST(Zoltan, balances_a_steep_grid_with_each_method) {
  const Problem problem = test::steep_problem({.side = 32, .ranks = 8, .steepness = 4, .seed = 3});
  const Score before = score(problem, present_placement(problem));
  for (const char* const name : {"zoltan_rcb", "zoltan_hsfc", "zoltan_graph"}) {
    const std::unique_ptr<Balancer> balancer = make_balancer(name, entries_with_zoltan());
    EXPECT_EQ(balancer->name(), name);
    const Score after = score(problem, balancer->decide(problem).placement);
    EXPECT_LT(after.imbalance(), 0.12) << name;
    EXPECT_LT(after.imbalance(), before.imbalance() / 8) << name;
    EXPECT_LT(after.bytes_between_ranks, 10 * 1984 * 0.3) << name;
  }
}

TEST(Zoltan, decides_the_same_again) {
  const Problem problem = test::steep_problem({.side = 32, .ranks = 8, .steepness = 4, .seed = 3});
  for (const char* const name : {"zoltan-rcb", "zoltan-hsfc", "zoltan-graph"}) {
    const std::unique_ptr<Balancer> balancer = make_balancer(name, entries_with_zoltan());
    const Placement first = balancer->decide(problem).placement;
    EXPECT_EQ(balancer->decide(problem).placement, first) << name;
  }
}

TEST(Zoltan, is_in_the_table_behind_our_own_balancers) {
  const std::span<const BalancerEntry> own = balancer_entries();
  const std::span<const BalancerEntry> all = entries_with_zoltan();
  ASSERT_EQ(all.size(), own.size() + 3);
  EXPECT_TRUE(std::ranges::equal(own, all.first(own.size()), {}, &BalancerEntry::name, &BalancerEntry::name));
  EXPECT_THROW(static_cast<void>(make_balancer("zoltan_best", all)), Error);
  EXPECT_THROW(static_cast<void>(make_balancer("zoltan_rcb:sweeps=2", all)), Error);
}

TEST(Zoltan, and_our_own_bisection_is_about_as_good) {
  const Problem problem = test::steep_problem({.side = 64, .ranks = 8, .steepness = 3, .seed = 5});
  const auto imbalance = [&](const Balancer& balancer) {
    return score(problem, balancer.decide(problem).placement).imbalance();
  };
  EXPECT_LT(imbalance(Bisection{}), imbalance(Zoltan{ZoltanMethod::bisection}) + 0.02);
}

TEST(Zoltan, leaves_what_cannot_move_and_what_has_no_load) {
  Problem problem = test::steep_problem({.side = 16, .ranks = 4, .steepness = 4});
  problem.objects[5].is_migratable = false;
  EXPECT_EQ(Zoltan{ZoltanMethod::bisection}.decide(problem).placement[5], problem.objects[5].rank);
  for (Object& object : problem.objects) {
    object.load = 0;
  }
  EXPECT_EQ(Zoltan{ZoltanMethod::graph}.decide(problem).placement, present_placement(problem));
}

}  // namespace
}  // namespace plait::data::balance

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  MPI_Finalize();
  return status;
}
