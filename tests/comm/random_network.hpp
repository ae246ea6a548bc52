// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include "plait/net/sim/sim.hpp"

namespace plait::comm::test {

/// The failures, each detected so long after it.
inline std::vector<net::SimFailure> noticed_after(nanoseconds length, std::vector<net::SimFailure> failures) {
  for (net::SimFailure& failure : failures) {
    failure.noticed_after = length;
  }
  return failures;
}

/// A simulated network with delays, reordering, full queues, small packets and few slots, as `below(n)` draws them:
/// numbers from 0 to n - 1.
template <class Below>
net::SimOptions random_network(unsigned seed, std::vector<net::SimFailure> failures, Below below) {
  return {.seed = seed,
          .delay_max = std::chrono::microseconds{below(20)},
          .order = below(2) == 0 ? net::SimOrder::kept_in_pair : net::SimOrder::free,
          .retry_probability = below(2) == 0 ? 0.0 : 0.3,
          .failures = noticed_after(std::chrono::microseconds{below(50)}, std::move(failures)),
          .packet_bytes_max = 1024,
          .copied_bytes_max = seed % 2 == 0 ? 0U : 5000U,
          .send_queue_packets_max = 1 + below(8),
          .bulk_slot_count = 1 + below(3),
          .bulk_in_flight_max = below(2) == 0 ? std::numeric_limits<std::size_t>::max() : 500 + below(40'000),
          .bulk_chunk_bytes = 4096,
          .shared_copies = {.count = seed % 3, .bytes_max = 15'000}};
}

}  // namespace plait::comm::test
