// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/topology.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace plait::replay::topology_test {
namespace {

LinkCosts costs() {
  return {.gap_per_byte_ns = 0.1};
}

std::vector<std::uint32_t> route_of(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> links;
  topology.route(from, to, links);
  return links;
}

/// What holds for all: routes begin and end with the hosts' own links, take no link twice, and their latency is that
/// of the links between.
void check_all_routes(const TopologySettings& settings) {
  const auto hosts = static_cast<std::uint32_t>(host_count(settings));
  const Topology topology{settings, costs(), hosts};
  for (std::uint32_t from = 0; from < hosts; ++from) {
    for (std::uint32_t to = 0; to < hosts; ++to) {
      if (from == to) {
        continue;
      }
      const std::vector<std::uint32_t> links = route_of(topology, from, to);
      EXPECT_EQ(links.front(), from);
      EXPECT_EQ(links.back(), hosts + to);
      EXPECT_EQ(std::set<std::uint32_t>(links.begin(), links.end()).size(), links.size());
      double latency = 0;
      for (const std::uint32_t link : links) {
        ASSERT_LT(link, topology.link_count());
        const bool is_global = topology.capacity(link) == settings.global_bytes_per_s * 1e-9;
        latency += link < 2 * hosts ? 0 : is_global ? settings.global_latency_ns : settings.link_latency_ns;
      }
      EXPECT_EQ(topology.latency_ns(from, to), latency) << from << " to " << to;
    }
  }
}

TEST(Topologies, lead_every_host_to_every_other) {
  check_all_routes(
      {.shape = TopologyShape::fat_tree, .arity = 3, .levels = 3, .link_bytes_per_s = 1e9, .link_latency_ns = 7});
  check_all_routes({.shape = TopologyShape::fat_tree,
                    .arity = 4,
                    .levels = 2,
                    .oversubscription = 2,
                    .link_bytes_per_s = 1e9,
                    .link_latency_ns = 7});
  check_all_routes({.shape = TopologyShape::dragonfly,
                    .groups = 5,
                    .routers = 3,
                    .hosts = 2,
                    .link_bytes_per_s = 1e9,
                    .link_latency_ns = 7,
                    .global_bytes_per_s = 2e9,
                    .global_latency_ns = 50});
  check_all_routes({.shape = TopologyShape::torus, .sizes = {4, 3, 2}, .link_bytes_per_s = 1e9, .link_latency_ns = 7});
}

TEST(FatTree, goes_up_no_further_than_needed_and_spreads_destinations_over_its_links) {
  const TopologySettings settings{.shape = TopologyShape::fat_tree, .arity = 4, .levels = 2, .link_bytes_per_s = 1e9};
  const Topology topology{settings, costs(), 16};
  EXPECT_EQ(route_of(topology, 0, 3).size(), 2U);
  std::set<std::uint32_t> up;
  for (std::uint32_t to = 4; to < 8; ++to) {
    const std::vector<std::uint32_t> links = route_of(topology, 0, to);
    ASSERT_EQ(links.size(), 4U);
    up.insert(links[1]);
  }
  EXPECT_EQ(up.size(), 4U);
}

TEST(FatTree, has_fewer_links_up_when_oversubscribed) {
  TopologySettings settings{.shape = TopologyShape::fat_tree, .arity = 4, .levels = 2, .link_bytes_per_s = 1e9};
  const std::uint32_t full = Topology{settings, costs(), 16}.link_count();
  settings.oversubscription = 4;
  const Topology topology{settings, costs(), 16};
  EXPECT_EQ(full - topology.link_count(), 4U * 3 * 2);
}

TEST(Torus, takes_the_shorter_way_round) {
  const Topology topology{{.shape = TopologyShape::torus, .sizes = {8}, .link_bytes_per_s = 1e9}, costs(), 8};
  EXPECT_EQ(route_of(topology, 0, 7).size(), 3U);
  EXPECT_EQ(route_of(topology, 7, 0).size(), 3U);
  EXPECT_EQ(route_of(topology, 0, 4).size(), 6U);
}

TEST(Dragonfly, crosses_one_global_link_at_most) {
  const TopologySettings settings{.shape = TopologyShape::dragonfly,
                                  .groups = 4,
                                  .routers = 4,
                                  .hosts = 1,
                                  .link_bytes_per_s = 1e9,
                                  .global_bytes_per_s = 3e9};
  const Topology topology{settings, costs(), 16};
  for (std::uint32_t to = 1; to < 16; ++to) {
    const std::vector<std::uint32_t> links = route_of(topology, 0, to);
    const auto global =
        std::ranges::count_if(links, [&](std::uint32_t link) { return topology.capacity(link) == 3.0; });
    EXPECT_EQ(global, to / 4 == 0 ? 0 : 1);
    EXPECT_LE(links.size(), 5U);
  }
}

}  // namespace
}  // namespace plait::replay::topology_test
