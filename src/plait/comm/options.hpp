// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "plait/base/backoff.hpp"

namespace plait::comm {

/// Threads that copy segments of non-contiguous messages at once: two cores reach most of the memory bandwidth.
inline constexpr std::uint32_t copiers_by_default = 2;

/// Options of an endpoint. All ranks must use the same.
struct EndpointOptions {
  /// Largest eager message, at most what the driver copies at once: a packet; 64 KiB between hosts, and for multicasts
  /// within one. Larger ones use rendezvous and are not copied. 0: rendezvous for all.
  std::size_t eager_bytes_max = static_cast<std::size_t>(-1);
  /// How messages share packets: "immediate", "aggregate", "priority" or "automatic"; see packing.hpp.
  std::string packing = "automatic";
  /// Memory of one rank for packets in flight to it. Its share determines the credits of each peer, 2 to 32 packets.
  std::size_t packet_memory_bytes_max = std::size_t{64} << 20U;
  /// Unexpected data from one peer, above which that peer must use rendezvous. Also bounds the multicasts that a rank
  /// stores and forwards before it receives them.
  std::size_t unexpected_bytes_max = std::size_t{16} << 20U;
  /// Rendezvous messages move in segments of this size; more urgent messages may be sent between them.
  std::size_t segment_bytes = std::size_t{4} << 20U;
  /// Segments of one message in flight at once.
  std::uint32_t segments_in_flight = 2;
  /// Threads that copy segments of non-contiguous messages at once: the one that polls, and others that call `progress`
  /// meanwhile, such as idle workers. Few saturate the memory bandwidth (`task::measure_copy_limits`). 1: the one that
  /// polls copies, with the endpoint's lock held. 0: `copiers_automatic`, or 1 in a runtime whose threads outnumber the
  /// cores.
  std::uint32_t copiers_max = 0;
  /// What `copiers_max` is where it is 0; at least 1. A measured strategy replaces the default.
  std::uint32_t copiers_automatic = copiers_by_default;
  /// What each of these copies at once; segments up to this size are not divided.
  std::size_t copy_piece_bytes = std::size_t{128} << 10U;
  /// Memory for packed segments of non-contiguous messages: so much for those sent, and for those received. One segment
  /// may exceed it.
  std::size_t copy_memory_bytes_max = std::size_t{64} << 20U;
  WaitPolicy wait;
  /// Polling gaps longer than this are recorded in the trace.
  nanoseconds poll_gap_min = std::chrono::microseconds{200};
};

}  // namespace plait::comm
