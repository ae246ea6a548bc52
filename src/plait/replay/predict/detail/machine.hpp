// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "plait/replay/predict/detail/event_queue.hpp"
#include "plait/replay/predict/platform.hpp"
#include "plait/replay/predict/topology.hpp"

namespace plait::replay::predicting {

/// The costs of a platform in virtual time.
struct Costs {
  Time latency = 0;
  Time send_overhead = 0;
  Time receive_overhead = 0;
  Time post_overhead = 0;
  Time gap = 0;
  Time rendezvous = 0;
  LinkCosts link;  ///< For all other parameters.

  explicit Costs(const LinkCosts& costs)
      : latency{to_time(costs.latency_ns)},
        send_overhead{to_time(costs.send_overhead_ns)},
        receive_overhead{to_time(costs.receive_overhead_ns)},
        post_overhead{to_time(costs.post_overhead_ns)},
        gap{to_time(costs.gap_ns)},
        rendezvous{to_time(costs.rendezvous_ns)},
        link{costs} {}

  /// From departure to delivery, for the bytes after the first.
  [[nodiscard]] Time moving(std::uint64_t bytes) const noexcept {
    return bytes == 0 ? Time{0} : along(link.moving, {.bytes = 1}, link.gap_per_byte_ns, bytes);
  }
  /// How long a message keeps an interface from the next, beside the gap.
  [[nodiscard]] Time occupying(std::uint64_t bytes) const noexcept {
    return link.occupying.empty() ? moving(bytes) : along(link.occupying, {}, link.gap_per_byte_ns, bytes);
  }
  /// From departure until the sender's buffer is free.
  [[nodiscard]] Time leaving(std::uint64_t bytes) const noexcept {
    return link.leaving.empty() ? moving(bytes) : std::min(moving(bytes), along(link.leaving, {}, std::nullopt, bytes));
  }
  [[nodiscard]] bool is_eager(std::uint64_t bytes) const noexcept { return bytes <= link.eager_bytes_max; }
  [[nodiscard]] Time sending(std::uint64_t bytes) const noexcept {
    return link.processor.sending.empty() ? send_overhead + handling(bytes)
                                          : along(link.processor.sending, {}, std::nullopt, bytes);
  }
  [[nodiscard]] Time receiving(std::uint64_t bytes) const noexcept {
    return link.processor.receiving.empty() ? receive_overhead + handling(bytes)
                                            : along(link.processor.receiving, {}, std::nullopt, bytes);
  }
  /// What the network takes of a processor that computes.
  [[nodiscard]] Time stolen_sending(std::uint64_t bytes) const noexcept {
    return along(link.processor.stolen_sending, {}, std::nullopt, bytes);
  }
  [[nodiscard]] Time stolen_receiving(std::uint64_t bytes) const noexcept {
    return along(link.processor.stolen_receiving, {}, std::nullopt, bytes);
  }

 private:
  [[nodiscard]] Time handling(std::uint64_t bytes) const noexcept {
    return is_eager(bytes) ? static_cast<Time>(static_cast<double>(bytes) * (link.overhead_per_byte_ns * 1000) + 0.5)
                           : 0;
  }
  /// Interpolates a curve that begins at `start`. Beyond the last point, each byte adds `beyond_ns`, or as much as
  /// between the last two points.
  [[nodiscard]] static Time along(const std::vector<ByteTime>& curve,
                                  const ByteTime& start,
                                  std::optional<double> beyond_ns,
                                  std::uint64_t bytes) noexcept {
    const auto upper = std::ranges::lower_bound(curve, bytes, {}, &ByteTime::bytes);
    const auto point = [&](auto place) { return place == curve.begin() ? start : place[-1]; };
    const ByteTime lower = point(upper);
    const auto slope = [](const ByteTime& from, const ByteTime& to) {
      return (to.time_ns - from.time_ns) / static_cast<double>(std::max<std::uint64_t>(1, to.bytes - from.bytes));
    };
    const double per_byte = upper != curve.end() ? slope(lower, *upper)
                            : beyond_ns          ? *beyond_ns
                            : curve.size() > 1   ? slope(upper[-2], upper[-1])
                                                 : 0;
    const auto beyond = static_cast<double>(bytes - lower.bytes);
    return static_cast<Time>(std::max(0.0, lower.time_ns + beyond * per_byte) * 1000 + 0.5);
  }
};

/// A platform in virtual time, with the hosts that the ranks need. Ranks fill hosts in order.
struct Machine {
  Machine(const Platform& platform, std::uint32_t ranks_, std::uint32_t hosts)
      : topology{platform.topology, platform.between_hosts, hosts},
        between{platform.between_hosts},
        within{platform.within_host},
        ranks{ranks_},
        ranks_per_host{platform.ranks_per_host},
        shared_cores{platform.shares_cores() ? platform.cores_per_host : 0},
        core_slice{to_time(platform.core_slice_ns)},
        copy_per_byte{1e12 / platform.copy_bytes_per_s},
        search_each{to_time(platform.search_ns)} {}

  [[nodiscard]] std::uint32_t host(std::uint32_t rank) const noexcept { return rank / ranks_per_host; }
  [[nodiscard]] bool is_within_host(std::uint32_t a, std::uint32_t b) const noexcept { return host(a) == host(b); }
  /// The costs of a message between two ranks.
  [[nodiscard]] const Costs& costs(std::uint32_t a, std::uint32_t b) const noexcept {
    return is_within_host(a, b) ? within : between;
  }
  /// From the sender's interface to the receiver's.
  [[nodiscard]] Time latency(std::uint32_t from, std::uint32_t to) const {
    return is_within_host(from, to) ? within.latency
                                    : between.latency + to_time(topology.latency_ns(host(from), host(to)));
  }
  /// The time to copy or to combine so many bytes.
  [[nodiscard]] Time copying(std::uint64_t bytes) const noexcept {
    return static_cast<Time>(static_cast<double>(bytes) * copy_per_byte);
  }

  /// The time to search a queue of so many elements for one that is anywhere in it.
  [[nodiscard]] Time searching(std::uint32_t elements) const noexcept { return search_each * (elements + 1) / 2; }

  Topology topology;
  Costs between;
  Costs within;
  std::uint32_t ranks;
  std::uint32_t ranks_per_host;
  std::uint32_t shared_cores;  ///< Of each host, if its ranks are more; else 0.
  Time core_slice;             ///< How long a rank computes before another gets its core.
  double copy_per_byte;
  Time search_each;  ///< To search one element of a queue.
};

}  // namespace plait::replay::predicting
