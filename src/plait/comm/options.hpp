// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "plait/base/backoff.hpp"

namespace plait::comm {

/// How an endpoint behaves. The defaults are right unless a measurement says otherwise. All ranks must use the same.
struct EndpointOptions {
  /// Longest message that is sent with its announcement; a longer one waits until its receive is known, and is then
  /// moved without a copy. Bounded by the driver's packet; 0 announces every message.
  std::size_t eager_bytes_max = static_cast<std::size_t>(-1);
  /// How messages share packets: "immediate", "aggregate" or "priority"; see packing.hpp.
  std::string packing = "aggregate";
  /// Memory of one rank for packets that peers may have under way to it; divided among the peers, it gives the credits
  /// of each, 2 to 32 packets.
  std::size_t packet_memory_bytes_max = std::size_t{64} << 20U;
  /// Data from one peer that has come before its receives, above which that peer may only announce. Also what a rank
  /// keeps of multicasts that it passes on before it receives them.
  std::size_t unexpected_bytes_max = std::size_t{16} << 20U;
  /// An announced message moves in pieces of this size, so that an urgent one can pass between them.
  std::size_t piece_bytes = std::size_t{4} << 20U;
  /// Pieces of one message under way at once.
  std::uint32_t pieces_in_flight = 2;
  /// How waiting threads wait.
  WaitPolicy wait;
  /// Records times in which nobody looked at the network for longer than this although something was in flight.
  nanoseconds poll_gap_min = std::chrono::microseconds{200};
};

}  // namespace plait::comm
