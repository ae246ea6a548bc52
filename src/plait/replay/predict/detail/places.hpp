// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plait/replay/predict/detail/event_queue.hpp"
#include "plait/replay/predict/platform.hpp"

namespace plait::replay::predicting {

/// The costs of a platform in virtual time.
struct Costs {
  Time latency = 0;
  Time send_overhead = 0;
  Time receive_overhead = 0;
  Time post_overhead = 0;
  Time gap = 0;
  Time rendezvous = 0;
  double overhead_per_byte = 0;
  double gap_per_byte = 0;
  double both_ways = 1;
  std::uint64_t eager_bytes_max = 0;
  std::vector<MovingTime> curve;  ///< As in `LinkCosts::moving`.

  explicit Costs(const LinkCosts& costs)
      : latency{to_time(costs.latency_ns)},
        send_overhead{to_time(costs.send_overhead_ns)},
        receive_overhead{to_time(costs.receive_overhead_ns)},
        post_overhead{to_time(costs.post_overhead_ns)},
        gap{to_time(costs.gap_ns)},
        rendezvous{to_time(costs.rendezvous_ns)},
        overhead_per_byte{costs.overhead_per_byte_ns * 1000},
        gap_per_byte{costs.gap_per_byte_ns * 1000},
        both_ways{costs.both_ways},
        eager_bytes_max{costs.eager_bytes_max},
        curve{costs.moving} {}

  /// What the bytes beyond the first take at an interface.
  [[nodiscard]] Time moving(std::uint64_t bytes) const noexcept {
    if (bytes == 0) {
      return 0;
    }
    const auto upper = std::ranges::lower_bound(curve, bytes, {}, &MovingTime::bytes);
    const MovingTime lower = upper == curve.begin() ? MovingTime{.bytes = 1} : upper[-1];
    const auto beyond = static_cast<double>(bytes - lower.bytes);
    const double slope = upper == curve.end() ? gap_per_byte
                                              : (upper->time_ns - lower.time_ns) * 1000 /
                                                    static_cast<double>(upper->bytes - lower.bytes);
    return static_cast<Time>(lower.time_ns * 1000 + beyond * slope + 0.5);
  }
  [[nodiscard]] bool is_eager(std::uint64_t bytes) const noexcept { return bytes <= eager_bytes_max; }
  [[nodiscard]] Time handling(std::uint64_t bytes) const noexcept {
    return is_eager(bytes) ? static_cast<Time>(static_cast<double>(bytes) * overhead_per_byte + 0.5) : 0;
  }
  [[nodiscard]] Time sending(std::uint64_t bytes) const noexcept { return send_overhead + handling(bytes); }
  [[nodiscard]] Time receiving(std::uint64_t bytes) const noexcept { return receive_overhead + handling(bytes); }
};

/// Which host a rank is on: ranks fill them in their order.
struct Placement {
  std::uint32_t ranks_per_host = 1;
  [[nodiscard]] std::uint32_t host(std::uint32_t rank) const noexcept { return rank / ranks_per_host; }
};

}  // namespace plait::replay::predicting
