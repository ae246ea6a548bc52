// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <rdma/fi_errno.h>
#include <utility>
#include <vector>

#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/ofi/detail/call.hpp"
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
  PacketSends(Fabric& fabric, PacketPool& pool, Peers& peers, Rank self, const Limits& limits)
      : fabric_{fabric},
        pool_{pool},
        peers_{peers},
        self_{self},
        limits_{limits},
        sends_(limits.in_flight_max),
        in_flight_to_(peers.count()) {
    for (std::size_t index = sends_.size(); index-- > 0;) {
      sends_[index].operation.kind = Operation::Kind::send;
      sends_[index].operation.index = index;
      free_.push_back(index);
    }
  }

  /// As `Driver::send`. A packet to a peer that has ended its driver vanishes. Throws: `Error` for one that is lost.
  [[nodiscard]] Post send(Rank to, Packet&& packet) { return send_as(Purpose::packet, to, std::move(packet)); }

  /// Sends one of the driver's own messages as soon as possible: now, or in one of the next `send_waiting`.
  void send_own(Purpose purpose, Rank to, Packet&& packet) {
    if (!waiting_.empty() || send_as(purpose, to, std::move(packet)) == Post::retry) {
      // NOLINTNEXTLINE(bugprone-use-after-move): refused, so still here
      waiting_.push_back({purpose, to, std::move(packet)});
    }
  }

  void send_waiting() {
    // Each is tried once: one peer that cannot be reached yet does not hold up the others.
    for (std::size_t count = waiting_.size(); count > 0; --count) {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      if (send_as(next.purpose, next.to, std::move(next.packet)) == Post::retry) {
        // NOLINTNEXTLINE(bugprone-use-after-move): refused, so still here
        waiting_.push_back(std::move(next));
      }
    }
  }

  /// Sends a byte that means nothing, now or not at all.
  [[nodiscard]] Post greet(Rank to) {
    Packet packet = pool_.acquire();
    packet.resize(1);
    *packet.data() = std::byte{0};
    const Post post = send_as(Purpose::greeting, to, std::move(packet));
    if (post == Post::retry) {
      pool_.recycle(std::move(packet));  // NOLINT(bugprone-use-after-move): refused, so still here
    }
    return post;
  }

  /// Recycles a packet that is sent, or never will be.
  void note_sent(const Operation& operation) {
    InFlight& send = sends_[operation.index];
    pool_.recycle(std::move(send.packet));
    --in_flight_to_[operation.peer.value()];
    --in_flight_;
    free_.push_back(operation.index);
  }

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

  [[nodiscard]] Post send_as(Purpose purpose, Rank to, Packet&& packet) {
    if (!peers_.can_reach(to)) {
      pool_.recycle(std::move(packet));
      return Post::done;
    }
    const std::uint64_t word = encode({purpose, self_});
    if (packet.size() <= limits_.inject_bytes_max) {
      const ssize_t code = fi_injectdata(fabric_.endpoint(), packet.data(), packet.size(), word, peers_.name(to));
      if (code == -FI_EAGAIN) {
        return Post::retry;
      }
      check_ofi(code, "fi_injectdata", to);
      peers_.set_known(to);
      pool_.recycle(std::move(packet));
      return Post::done;
    }
    if (free_.empty()) {
      return Post::retry;
    }
    InFlight& send = sends_[free_.back()];
    const ssize_t code =
        fi_senddata(fabric_.endpoint(), packet.data(), packet.size(), nullptr, word, peers_.name(to), &send.operation);
    if (code == -FI_EAGAIN) {
      return Post::retry;
    }
    check_ofi(code, "fi_senddata", to);
    peers_.set_known(to);
    free_.pop_back();
    send.packet = std::move(packet);
    send.operation.peer = to;
    ++in_flight_;
    ++in_flight_to_[to.value()];
    return Post::posted;
  }

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
