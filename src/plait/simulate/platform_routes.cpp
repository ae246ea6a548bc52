// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/platform_routes.hpp"

#include <cmath>

#include "plait/base/error.hpp"

namespace plait::simulate {

namespace {

nanoseconds whole(double time_ns) {
  return nanoseconds{std::llround(time_ns)};
}

net::LogGP costs_of(const replay::LinkCosts& link) {
  return {.latency = whole(link.latency_ns),
          .overhead = whole((link.send_overhead_ns + link.receive_overhead_ns) / 2),
          .gap = whole(link.gap_ns),
          .per_byte_ns = link.gap_per_byte_ns};
}

std::uint32_t checked_hosts(const replay::Platform& platform, std::uint32_t rank_count) {
  return replay::hosts_of(platform, rank_count).value();
}

}  // namespace

PlatformRoutes::PlatformRoutes(const replay::Platform& platform, std::uint32_t rank_count)
    : ranks_per_host_{platform.ranks_per_host},
      topology_{platform.topology, platform.between_hosts, checked_hosts(platform, rank_count)},
      within_{costs_of(platform.has_within_host ? platform.within_host : platform.between_hosts)},
      between_{costs_of(platform.between_hosts)} {}

net::SimRoute PlatformRoutes::find(Rank from, Rank to) const {
  const std::uint32_t source = host_of(from);
  const std::uint32_t target = host_of(to);
  if (source == target) {
    return {within_, {}};
  }
  links_.clear();
  topology_.route(source, target, links_);
  net::LogGP cost = between_;
  cost.latency += whole(topology_.latency_ns(source, target));
  return {cost, links_};
}

}  // namespace plait::simulate
