// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/max_min.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"

namespace plait::replay::max_min_test {
namespace {

using Route = std::vector<std::uint32_t>;

/// Raises all rates together, stops those that meet a full link, and goes on: as in the definition.
std::vector<double> plain_rates(std::vector<double> left, const std::vector<Route>& routes) {
  std::vector<double> rates(routes.size(), 0);
  std::vector<bool> open(routes.size(), true);
  while (std::ranges::find(open, true) != open.end()) {
    double step = std::numeric_limits<double>::max();
    std::vector<int> users(left.size(), 0);
    for (std::size_t flow = 0; flow < routes.size(); ++flow) {
      for (const std::uint32_t link : routes[flow]) {
        users[link] += open[flow] ? 1 : 0;
      }
    }
    for (std::size_t link = 0; link < left.size(); ++link) {
      step = users[link] > 0 ? std::min(step, left[link] / users[link]) : step;
    }
    for (std::size_t link = 0; link < left.size(); ++link) {
      left[link] -= users[link] * step;
    }
    for (std::size_t flow = 0; flow < routes.size(); ++flow) {
      rates[flow] += open[flow] ? step : 0;
      open[flow] = open[flow] && std::ranges::none_of(routes[flow], [&](auto link) { return left[link] < 1e-9; });
    }
  }
  return rates;
}

Route random_route(Random& random, std::size_t links) {
  std::set<std::uint32_t> route;
  const std::size_t length = 1 + random.below(4);
  while (route.size() < length) {
    route.insert(static_cast<std::uint32_t>(random.below(links)));
  }
  return {route.begin(), route.end()};
}

TEST(MaxMinSharing, is_that_of_the_definition) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random{seed};
    std::vector<double> capacities(4 + random.below(20));
    for (double& capacity : capacities) {
      capacity = 1 + static_cast<double>(random.below(5));
    }
    MaxMin shares{capacities, 4};
    std::vector<Route> routes;
    for (std::uint64_t i = 0; i < 1 + random.below(40); ++i) {
      routes.push_back(random_route(random, capacities.size()));
      ASSERT_EQ(shares.add(routes.back()), i);
    }
    shares.settle_all();
    const std::vector<double> expected = plain_rates(capacities, routes);
    for (std::uint32_t flow = 0; flow < routes.size(); ++flow) {
      EXPECT_NEAR(shares.rate(flow), expected[flow], 1e-6) << "seed " << seed << ", flow " << flow;
    }
  }
}

TEST(MaxMinSharing, stays_right_when_only_what_is_touched_is_settled) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random{seed};
    const std::vector<double> capacities(60, 2.0);  // many links and few flows, so that there are islands
    MaxMin shares{capacities, 4};
    std::vector<std::pair<MaxMin::Flow, Route>> active;
    const auto settle = [&](const Route& touched) {
      for (const std::uint32_t link : touched) {
        ASSERT_TRUE(shares.find(link, 1000));
        shares.settle_found();
      }
    };
    for (int change = 0; change < 60; ++change) {
      if (active.size() > 12 || (!active.empty() && random.happens(0.4))) {
        const std::size_t index = random.below(active.size());
        const auto [flow, route] = active[index];
        active.erase(active.begin() + static_cast<std::ptrdiff_t>(index));
        shares.remove(flow);
        settle(route);
      } else {
        const Route route = random_route(random, capacities.size());
        active.emplace_back(shares.add(route), route);
        settle(route);
      }
      std::vector<Route> routes;
      for (const auto& [flow, route] : active) {
        routes.push_back(route);
      }
      const std::vector<double> expected = plain_rates(capacities, routes);
      for (std::size_t i = 0; i < active.size(); ++i) {
        ASSERT_NEAR(shares.rate(active[i].first), expected[i], 1e-6) << "seed " << seed << ", change " << change;
      }
    }
  }
}

TEST(MaxMinSharing, looks_no_further_than_told) {
  MaxMin shares{std::vector<double>(10, 1.0), 2};
  for (std::uint32_t link = 0; link < 9; ++link) {
    static_cast<void>(shares.add(Route{link, link + 1}));
  }
  EXPECT_FALSE(shares.find(0, 5));
  EXPECT_TRUE(shares.find(0, 9));
  EXPECT_EQ(shares.found_flows().size(), 9U);
  EXPECT_EQ(shares.found_links().size(), 10U);
}

TEST(MaxMinSharing, gives_a_new_flow_roughly_its_share_without_touching_others) {
  MaxMin shares{{1.0, 1.0}, 2};
  const MaxMin::Flow first = shares.add(Route{0});
  shares.settle_all();
  const MaxMin::Flow second = shares.add(Route{0, 1});
  shares.settle_roughly(second);
  EXPECT_EQ(shares.rate(first), 1.0);
  EXPECT_EQ(shares.rate(second), 0.5);
  shares.settle_all();
  EXPECT_EQ(shares.rate(first), 0.5);
}

}  // namespace
}  // namespace plait::replay::max_min_test
