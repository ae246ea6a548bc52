// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "plait/base/backoff.hpp"

namespace plait::comm {

/// How an endpoint behaves. The defaults are right unless a measurement shows otherwise. All ranks must use the same.
struct EndpointOptions {
  /// Longest message that is sent eagerly; a longer one waits until its receive is matched (rendezvous), and is then
  /// moved without a copy. Bounded by the driver's packet; 0 uses rendezvous for every message.
  std::size_t eager_bytes_max = static_cast<std::size_t>(-1);
  /// How messages share packets: "immediate", "aggregate" or "priority"; see packing.hpp.
  std::string packing = "aggregate";
  /// Memory of one rank for packets in flight to it from its peers; divided among the peers, it gives the credits
  /// of each, 2 to 32 packets.
  std::size_t packet_memory_bytes_max = std::size_t{64} << 20U;
  /// Unexpected data from one peer, above which that peer must use rendezvous. Also what a rank keeps of multicasts
  /// that it forwards before it receives them.
  std::size_t unexpected_bytes_max = std::size_t{16} << 20U;
  /// A rendezvous message moves in segments of this size, so that an urgent one can pass between them.
  std::size_t segment_bytes = std::size_t{4} << 20U;
  /// Segments of one message in flight at once.
  std::uint32_t segments_in_flight = 2;
  /// How waiting threads wait.
  WaitPolicy wait;
  /// Records polling gaps longer than this: times in which messages were in flight and no thread polled.
  nanoseconds poll_gap_min = std::chrono::microseconds{200};
};

}  // namespace plait::comm
