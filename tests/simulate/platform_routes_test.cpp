// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/platform_routes.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::simulate::platform_routes_test {
namespace {

/// Pairs of hosts below two switches, with a link of half a host's rate between the switches in each direction.
replay::Platform fat_tree() {
  replay::Platform platform;
  platform.ranks_per_host = 2;
  platform.between_hosts = {
      .latency_ns = 1000, .send_overhead_ns = 100, .receive_overhead_ns = 300, .gap_ns = 50, .gap_per_byte_ns = 0.1};
  platform.within_host = {.latency_ns = 200, .gap_per_byte_ns = 0.05};
  platform.has_within_host = true;
  platform.topology = {.shape = replay::TopologyShape::fat_tree,
                       .arity = 2,
                       .levels = 2,
                       .oversubscription = 2,
                       .link_bytes_per_s = 5e9,
                       .link_latency_ns = 10};
  return platform;
}

TEST(PlatformRoutes, have_the_costs_within_and_between_hosts) {
  const PlatformRoutes routes{fat_tree(), 8};
  EXPECT_EQ(routes.find(Rank{0}, Rank{1}).cost.latency, nanoseconds{200});
  EXPECT_TRUE(routes.find(Rank{0}, Rank{1}).links.empty());
  const net::SimRoute near = routes.find(Rank{0}, Rank{2});
  EXPECT_EQ(near.cost.latency, nanoseconds{1000});
  EXPECT_EQ(near.cost.overhead, nanoseconds{200});
  EXPECT_EQ(near.links.size(), 2U);
  const net::SimRoute far = routes.find(Rank{0}, Rank{4});
  EXPECT_EQ(far.cost.latency, nanoseconds{1020});
  ASSERT_EQ(far.links.size(), 4U);
  EXPECT_DOUBLE_EQ(routes.per_byte_ns(far.links[0]), 0.1);
  EXPECT_DOUBLE_EQ(routes.per_byte_ns(far.links[1]), 0.2);
}

TEST(PlatformRoutes, refuse_more_ranks_than_there_are_places) {
  EXPECT_THROW((PlatformRoutes{fat_tree(), 9}), Error);
}

/// When a packet of `bytes` from each of `senders` has arrived, all sent at once to ranks of the other switch.
nanoseconds arrival_of_last(const std::vector<std::uint32_t>& senders, std::size_t bytes) {
  const PlatformRoutes routes{fat_tree(), 8};
  net::SimOptions options;
  options.routes = &routes;
  net::SimNetwork network{8, options};
  std::vector<std::unique_ptr<net::Driver>> drivers;
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    drivers.push_back(network.driver(Rank{rank}));
  }
  for (const std::uint32_t rank : senders) {
    net::Packet packet = drivers[rank]->acquire();
    packet.resize(bytes);
    EXPECT_NE(drivers[rank]->send(Rank{rank + 4}, std::move(packet)), net::Post::retry);
  }
  std::size_t arrived = 0;
  while (arrived < senders.size() && network.advance()) {
    for (const auto& driver : drivers) {
      std::array<net::Arrival, 4> arrivals;
      std::array<net::BulkDone, 4> bulk;
      const std::size_t count = driver->poll(arrivals, bulk).arrivals;
      for (std::size_t i = 0; i < count; ++i) {
        driver->recycle(std::move(arrivals[i].packet));
      }
      arrived += count;
    }
  }
  return network.clock().now();
}

TEST(PlatformRoutes, messages_share_a_link_one_after_the_other) {
  // o + L + o, and 5000 bytes at the rate of the slow link.
  EXPECT_EQ(arrival_of_last({0}, 5001), nanoseconds{1000 + 20 + 2 * 200 + 1000});
  // Both hosts below the switch send: the second waits until the first has passed.
  EXPECT_EQ(arrival_of_last({0, 2}, 5001), nanoseconds{1000 + 20 + 2 * 200 + 2 * 1000});
}

}  // namespace
}  // namespace plait::simulate::platform_routes_test
