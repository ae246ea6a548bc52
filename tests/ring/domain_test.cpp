// SPDX-License-Identifier: Apache-2.0
#include "ring/domain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

#include "ring/initial_condition.hpp"

namespace ring {
namespace {

/// Not a lattice: a bound cannot divide the bodies of one circle.
std::vector<Body> some_ring() {
  std::vector<Body> bodies = make_sphere(40000, 0.1, 1, 4);
  for (Body& body : bodies) {
    const double phi = 1000 * body.position.x;
    const double r = 1 + body.position.y;
    body.position = {r * std::cos(phi), r * std::sin(phi), body.position.z};
  }
  return bodies;
}

TEST(Domains, hold_equal_parts_of_the_cost) {
  std::vector<Body> bodies = some_ring();
  for (Body& body : bodies) {
    body.cost = body.position.x > 0 ? 300 : 100;
  }
  for (const DomainGrid grid : {DomainGrid{7, 1, 1}, DomainGrid{4, 3, 1}, DomainGrid{3, 2, 2}}) {
    const Domains domains{grid, choose_samples(bodies, 20000)};
    std::vector<double> cost(grid.ranks());
    for (const Body& body : bodies) {
      cost[domains.rank_of(body.position)] += body.cost;
    }
    const double mean = std::accumulate(cost.begin(), cost.end(), 0.0) / grid.ranks();
    for (const double part : cost) {
      EXPECT_NEAR(part, mean, 0.1 * mean) << grid.phi << 'x' << grid.r << 'x' << grid.z;
    }
  }
}

TEST(Domains, samples_stand_for_all_of_the_cost) {
  std::vector<Body> bodies = some_ring();
  bodies[17].cost = 5000;
  bodies[18].cost = 1;
  for (const std::uint32_t count : {1U, 30U, 1000U}) {
    double weight = 0;
    const std::vector<Sample> samples = choose_samples(bodies, count);
    for (const Sample& sample : samples) {
      weight += sample.weight;
    }
    EXPECT_LE(samples.size(), count);
    EXPECT_NEAR(weight / (2500.5 * static_cast<double>(bodies.size())), 1, 1.1 / count);
  }
  EXPECT_TRUE(choose_samples({}, 30).empty());
}

TEST(Domains, are_equal_sectors_before_there_are_samples) {
  const Domains domains{DomainGrid{4, 1, 1}};
  EXPECT_EQ(domains.rank_of({-1, -1e-9, 0}), 0U);
  EXPECT_EQ(domains.rank_of({1e-9, -1, 0}), 1U);
  EXPECT_EQ(domains.rank_of({1, 1e-9, 0}), 2U);
  EXPECT_EQ(domains.rank_of({-1, 1e-9, 0}), 3U);
  EXPECT_EQ(domains.rank_of({0, 0, 0}), domains.rank_of({0, 0, 1}));
}

TEST(Domains, are_neighbours_across_the_seam) {
  const Domains ring{DomainGrid{6, 1, 1}};
  EXPECT_EQ(ring.neighbors(0), (std::vector<std::uint32_t>{1, 5}));
  EXPECT_EQ(ring.neighbors(5), (std::vector<std::uint32_t>{0, 4}));
  EXPECT_TRUE((Domains{DomainGrid{1, 1, 1}}.neighbors(0).empty()));
  EXPECT_EQ((Domains{DomainGrid{2, 1, 1}}.neighbors(0)), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ((Domains{DomainGrid{3, 3, 1}}.neighbors(0)), (std::vector<std::uint32_t>{1, 3, 4, 6, 7}));
}

TEST(Domains, lead_to_every_goal_through_neighbours) {
  for (const DomainGrid grid : {DomainGrid{7, 1, 1}, DomainGrid{4, 3, 2}, DomainGrid{1, 1, 3}, DomainGrid{2, 2, 1}}) {
    const Domains domains{grid};
    const std::uint32_t hops_max = std::max({grid.phi / 2, grid.r, grid.z});
    for (std::uint32_t from = 0; from < grid.ranks(); ++from) {
      for (std::uint32_t goal = 0; goal < grid.ranks(); ++goal) {
        std::uint32_t at = from;
        for (std::uint32_t hops = 0; at != goal; ++hops) {
          ASSERT_LT(hops, hops_max);
          const std::uint32_t next = domains.next_hop(at, goal);
          ASSERT_TRUE(std::ranges::count(domains.neighbors(at), next));
          at = next;
        }
      }
    }
  }
}

TEST(Domains, come_back_from_their_bounds) {
  const DomainGrid grid{3, 2, 2};
  const std::vector<Body> bodies = some_ring();
  const Domains domains{grid, choose_samples(bodies, 500)};
  const Domains again{grid, domains.bounds()};
  for (const Body& body : bodies) {
    ASSERT_EQ(domains.rank_of(body.position), again.rank_of(body.position));
  }
  EXPECT_THROW((Domains{DomainGrid{4, 2, 2}, domains.bounds()}), plait::Error);
  std::vector<double> bad(domains.bounds().begin(), domains.bounds().end());
  std::swap(bad[0], bad[1]);
  EXPECT_THROW((Domains{grid, bad}), plait::Error);
  bad[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((Domains{grid, bad}), plait::Error);
}

TEST(Domains, move_smoothly_when_blended) {
  const DomainGrid grid{2, 1, 1};
  const std::vector<double> old_bounds{1.0};
  const std::vector<double> new_bounds{2.0};
  Domains domains{grid, new_bounds};
  domains.blend(Domains{grid, old_bounds}, 0.25);
  EXPECT_DOUBLE_EQ(domains.bounds()[0], 1.75);
}

TEST(Domains, refuse_a_grid_that_does_not_divide_the_ranks) {
  EXPECT_EQ(make_grid(12, 2, 3), (DomainGrid{2, 2, 3}));
  EXPECT_THROW(static_cast<void>(make_grid(10, 3)), plait::Error);
  EXPECT_THROW(static_cast<void>(make_grid(10, 0)), plait::Error);
}

}  // namespace
}  // namespace ring
