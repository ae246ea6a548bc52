// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"

namespace plait::net {

struct LoopbackOptions {
  std::size_t packet_bytes_max = 8192;
  std::uint32_t packets_in_flight_max = 64;
  /// Most packets that wait for one rank, from all peers; beyond, `send` returns `retry`.
  std::uint32_t mailbox_packets_max = 4096;
  std::uint32_t bulk_slot_count = 16;
  std::size_t bulk_in_flight_max = std::numeric_limits<std::size_t>::max();
  /// Borrowed for as long as any driver lives; nothing = the machine's steady clock.
  const Clock* clock = nullptr;
};

/// N ranks as N drivers in one process: a packet moves by ownership, bulk data by one copy.
///
/// The network and its drivers share what they need; any may end first. When a driver ends, what
/// its rank had in flight is given up, and packets to it vanish from then on.
///
/// Threads: each driver is used by one thread at a time, different drivers by different threads
/// at once; `driver()` from any thread.
class LoopbackNetwork {
 public:
  /// Throws: `Error` with `bad_argument` for no ranks, or packets of less than 1024 bytes.
  explicit LoopbackNetwork(std::uint32_t rank_count, const LoopbackOptions& options = {});

  [[nodiscard]] std::uint32_t rank_count() const noexcept;

  /// The driver of `rank`, once for each rank. Throws: `Error` with `bad_argument` otherwise.
  [[nodiscard]] std::unique_ptr<Driver> driver(Rank rank);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace plait::net
