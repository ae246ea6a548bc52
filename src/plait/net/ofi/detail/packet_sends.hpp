// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/ofi/detail/fabric.hpp"
#include "plait/net/ofi/detail/operation.hpp"
#include "plait/net/ofi/detail/peers.hpp"

namespace plait::net::detail::ofi {

/// Messages that libfabric has not finished sending: a bounded number. Small ones it copies and they are done.
class PacketSends {
 public:
  struct Limits {
    std::uint32_t in_flight_max = 0;
    std::size_t inject_bytes_max =
        0;  ///< Largest message that libfabric copies, instead of keeping it until it is sent.
  };

  /// Borrows all but the limits.
  PacketSends(Fabric& fabric, PacketPool& pool, Peers& peers, Rank self, const Limits& limits);

  /// As `Driver::send`. A packet to a peer that has ended its driver vanishes. Throws: `Error` for one that is lost.
  [[nodiscard]] Post send(Rank to, Packet&& packet) { return send_as(Purpose::packet, to, std::move(packet)); }
  /// Sends one of the driver's own messages as soon as possible: now, or in one of the next `send_waiting`.
  void send_own(Purpose purpose, Rank to, Packet&& packet);
  void send_waiting();
  /// Sends a byte that means nothing, now or not at all.
  [[nodiscard]] Post greet(Rank to);

  /// Recycles a packet that is sent, or never will be.
  void note_sent(const Operation& operation);
  [[nodiscard]] bool is_empty() const noexcept { return in_flight_ == 0 && waiting_.empty(); }
  [[nodiscard]] bool is_busy(Rank to) const { return in_flight_to_[to.value()] > 0; }

 private:
  struct InFlight {
    Operation operation;
    Packet packet;
  };
  struct Waiting {
    Purpose purpose;
    Rank to;
    Packet packet;
  };

  [[nodiscard]] Post send_as(Purpose purpose, Rank to, Packet&& packet);

  Fabric& fabric_;
  PacketPool& pool_;
  Peers& peers_;
  Rank self_;
  Limits limits_;
  std::vector<InFlight> sends_;    ///< Does not grow: libfabric knows the places.
  std::vector<std::size_t> free_;  ///< Indices of unused sends.
  std::size_t in_flight_ = 0;
  std::vector<std::uint32_t> in_flight_to_;  ///< By rank.
  std::deque<Waiting> waiting_;              ///< At most one a bulk slot, and a goodbye a peer.
};

}  // namespace plait::net::detail::ofi
