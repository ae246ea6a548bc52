// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "plait/net/sim/sim.hpp"
#include "plait/plait.hpp"

namespace bench {

/// Two ranks on a modelled link of 1 Gbit/s and a virtual clock. Transfers follow the engine's own protocol, and
/// polling costs no computing time.
class ModelledPair {
 public:
  /// `poll_every`: the polling period of a rank that computes; 0: it never polls.
  explicit ModelledPair(plait::nanoseconds poll_every) : poll_every_{poll_every} {}

  /// Returns the seconds until both ranks are done. Rank 0 sends; the ranks in `who` ("none", "sender", "receiver",
  /// "both") compute for `computing` seconds after they have posted.
  double seconds(const std::string& who, double computing, std::size_t bytes) {
    const plait::Bytes data(bytes, std::byte{1});
    plait::Bytes buffer(bytes);
    const plait::nanoseconds start = network_.clock().now();
    const auto end = start + std::chrono::duration_cast<plait::nanoseconds>(std::chrono::duration<double>(computing));
    plait::Request receive = ranks_[1].endpoint.receive({plait::Rank{0}, plait::Tag{1}}, std::span{buffer});
    plait::Request send = ranks_[0].endpoint.send({plait::Rank{1}, plait::Tag{1}}, std::span{data});
    ranks_[0].busy_until = who == "sender" || who == "both" ? end : start;
    ranks_[1].busy_until = who == "receiver" || who == "both" ? end : start;
    while (!is_done(ranks_[0], send) || !is_done(ranks_[1], receive)) {
      network_.advance_to(network_.clock().now() + step);
      for (Rank& rank : ranks_) {
        poll(rank);
      }
    }
    return std::chrono::duration<double>(network_.clock().now() - start).count();
  }

 private:
  static constexpr plait::nanoseconds step = std::chrono::microseconds{5};

  struct Rank {
    Rank(plait::net::SimNetwork& network, std::uint32_t rank)
        : driver{network.driver(plait::Rank{rank})}, recorder{network.clock()}, endpoint{*driver, recorder} {}

    std::unique_ptr<plait::net::Driver> driver;
    plait::trace::Recorder recorder;
    plait::comm::Endpoint endpoint;
    plait::nanoseconds busy_until{};
    plait::nanoseconds next_poll{};
  };

  [[nodiscard]] bool is_done(const Rank& rank, const plait::Request& request) const {
    return request.is_complete() && network_.clock().now() >= rank.busy_until;
  }

  void poll(Rank& rank) {
    const plait::nanoseconds now = network_.clock().now();
    const bool may_poll = poll_every_ > plait::nanoseconds::zero() && now >= rank.next_poll;
    if (now >= rank.busy_until || may_poll) {
      rank.next_poll = now + poll_every_;
      while (rank.endpoint.progress() > 0) {
      }
    }
  }

  plait::nanoseconds poll_every_;
  plait::net::SimNetwork network_{2,
                                  {.cost = {.latency = std::chrono::microseconds{25},
                                            .overhead = std::chrono::microseconds{3},
                                            .gap = std::chrono::microseconds{1},
                                            .per_byte_ns = 8}}};
  std::array<Rank, 2> ranks_{Rank{network_, 0}, Rank{network_, 1}};
};

}  // namespace bench
