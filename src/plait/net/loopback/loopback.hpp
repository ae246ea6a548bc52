// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/shared_copies.hpp"

namespace plait::net {

struct LoopbackOptions {
  std::size_t packet_bytes_max = 8192;
  std::uint32_t packets_in_flight_max = 64;
  /// Packets from all peers that wait for one rank; beyond, `send` returns `retry`.
  std::uint32_t mailbox_packets_max = 4096;
  std::uint32_t bulk_slot_count = 16;
  std::size_t bulk_in_flight_max = std::numeric_limits<std::size_t>::max();
  /// Of each rank, for `Driver::shared_copies`.
  SharedCopyOptions shared_copies;
  /// Must outlive the drivers; null for the machine's clock.
  const Clock* clock = nullptr;
};

/// N ranks as N drivers in one process. Packets move by ownership, bulk data with one copy.
///
/// The network and its drivers may end in any order. When a driver ends, its transfers are abandoned, and later packets
/// to it are dropped. Threads: one at a time for each driver; any for `driver()`.
class LoopbackNetwork {
 public:
  /// Throws: `Error` with `bad_argument` for no ranks, or packets of less than 1024 bytes.
  explicit LoopbackNetwork(std::uint32_t rank_count, const LoopbackOptions& options = {});

  [[nodiscard]] std::uint32_t rank_count() const noexcept;

  /// Creates the driver of `rank`, once. Throws: `Error` with `bad_argument` otherwise.
  [[nodiscard]] std::unique_ptr<Driver> driver(Rank rank);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace plait::net
