// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/net/sim/sim.hpp"
#include "plait/trace/recorder.hpp"

namespace bench {

/// All ranks of a simulated network, in one thread.
class SimulatedRanks {
 public:
  /// Ranks poll every `poll_every`, and when something arrives.
  explicit SimulatedRanks(std::uint32_t ranks,
                          const plait::net::SimOptions& options = {},
                          plait::nanoseconds poll_every = {})
      : network_{ranks, options}, poll_every_{poll_every} {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      drivers_.push_back(network_.driver(plait::Rank{rank}));
      endpoints_.push_back(std::make_unique<plait::comm::Endpoint>(*drivers_.back(), recorder_));
    }
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(endpoints_.size()); }
  [[nodiscard]] plait::comm::Endpoint& operator[](std::size_t rank) { return *endpoints_[rank]; }

  /// Calls `start(rank, requests)` for each rank while the clock is stopped, then runs the clock until all requests
  /// that `start` has added are complete. Returns the microseconds of the virtual clock.
  template <class Start>
  double run(const Start& start) {
    std::vector<plait::comm::Request> requests;
    const plait::nanoseconds begin = network_.clock().now();
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      start(rank, requests);
    }
    for (std::size_t complete = 0;;) {
      for (const auto& endpoint : endpoints_) {
        endpoint->progress();
      }
      while (complete < requests.size() && requests[complete].is_complete()) {
        (void)requests[complete++].status();
      }
      const plait::nanoseconds now = network_.clock().now();
      if (complete == requests.size()) {
        return std::chrono::duration<double, std::micro>(now - begin).count();
      }
      network_.advance_to(std::max(network_.next_event().value_or(now), now + poll_every_));
    }
  }

 private:
  plait::net::SimNetwork network_;
  plait::nanoseconds poll_every_;
  plait::trace::Recorder recorder_{network_.clock()};
  std::vector<std::unique_ptr<plait::net::Driver>> drivers_;
  std::vector<std::unique_ptr<plait::comm::Endpoint>> endpoints_;  // last: destroyed before what they use
};

}  // namespace bench
