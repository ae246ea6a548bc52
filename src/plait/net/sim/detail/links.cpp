// SPDX-License-Identifier: Apache-2.0
#include "plait/net/sim/detail/links.hpp"

#include <algorithm>
#include <cmath>

namespace plait::net::detail {

namespace {

nanoseconds bytes_time(std::size_t bytes, double per_byte_ns) {
  return nanoseconds{std::llround(static_cast<double>(bytes - 1) * per_byte_ns)};
}

}  // namespace

Links::Links(std::uint32_t rank_count, const SimOptions& options, Random& random)
    : options_{options},
      random_{random},
      out_free_(rank_count),
      in_free_(rank_count),
      links_free_(options.routes != nullptr ? options.routes->link_count() : 0),
      has_slow_interfaces_{links_free_.empty() && !options.slow_links.empty()} {}

Departure Links::depart(nanoseconds now, Rank from, Rank to, std::size_t bytes, Overtaking overtaking) {
  const SimRoute route = find_route(from, to);
  const LogGP& cost = route.cost;
  if (from == to) {
    const nanoseconds left = now + cost.overhead;
    return {left, left};
  }
  const nanoseconds length = time_at(from, now, bytes, cost);
  nanoseconds& free = out_free_[from.value()];
  const nanoseconds start = std::max(now, free);
  free = start + std::max(cost.overhead, cost.gap) + length;
  const nanoseconds behind = length - bytes_time(bytes, cost.per_byte_ns);  // of a slow sender: the last byte counts
  nanoseconds comes_in = pass(now, route, start + cost.overhead + cost.latency, bytes, behind);
  if (options_.delay_max > nanoseconds{0}) {
    comes_in += nanoseconds{random_.below(static_cast<std::uint64_t>(options_.delay_max.count()) + 1)};
    if (overtaking == Overtaking::never || options_.order == SimOrder::kept_in_pair) {
      comes_in = after_last(from, to, comes_in);
    }
  }
  return {start + cost.overhead + length, comes_in};
}

nanoseconds Links::come_in(nanoseconds now, Rank from, Rank to, std::size_t bytes) {
  const LogGP cost = find_route(from, to).cost;
  if (from == to) {
    return now + bytes_time(bytes, cost.per_byte_ns);
  }
  const nanoseconds length = time_at(to, now, bytes, cost);
  nanoseconds& free = in_free_[to.value()];
  const nanoseconds start = std::max(now, free);
  free = start + std::max(cost.overhead, cost.gap) + length;
  return start + length + cost.overhead;
}

SimRoute Links::find_route(Rank from, Rank to) const {
  return options_.routes != nullptr && from != to ? options_.routes->find(from, to) : SimRoute{options_.cost, {}};
}

/// When the first byte has passed the links of the way, and later by what the last byte loses on the slowest part of
/// it: `behind`, or on a link.
nanoseconds Links::pass(
    nanoseconds now, const SimRoute& route, nanoseconds start, std::size_t bytes, nanoseconds behind) {
  nanoseconds at = start;
  nanoseconds slower = behind;
  for (const std::uint32_t link : route.links) {
    const double per_byte_ns = options_.routes->per_byte_ns(link) * slowness(now, link);
    nanoseconds& free = links_free_[link];
    at = std::max(at, free);
    free = at + bytes_time(bytes, per_byte_ns);
    slower = std::max(slower, bytes_time(bytes, per_byte_ns - route.cost.per_byte_ns));
  }
  return at + slower;
}

/// By which the time of a byte on a link grows now.
double Links::slowness(nanoseconds now, std::uint32_t link) const {
  const auto slow = std::ranges::find(options_.slow_links, link, &SimSlowLink::link);
  return slow != options_.slow_links.end() && now >= slow->since ? slow->factor : 1;
}

/// The time of the bytes at the interface of `rank`.
nanoseconds Links::time_at(Rank rank, nanoseconds now, std::size_t bytes, const LogGP& cost) const {
  return bytes_time(bytes, has_slow_interfaces_ ? cost.per_byte_ns * slowness(now, rank.value()) : cost.per_byte_ns);
}

/// A time at which a message comes in that overtakes none of its pair of ranks.
nanoseconds Links::after_last(Rank from, Rank to, nanoseconds comes_in) {
  nanoseconds& last = last_comes_in_[std::uint64_t{from.value()} << 32U | to.value()];
  last = std::max(comes_in, last);
  return last;
}

}  // namespace plait::net::detail
