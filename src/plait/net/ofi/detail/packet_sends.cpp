// SPDX-License-Identifier: Apache-2.0
#include "plait/net/ofi/detail/packet_sends.hpp"

#include <rdma/fi_errno.h>
#include <utility>

#include "plait/net/ofi/detail/call.hpp"

namespace plait::net::detail::ofi {

PacketSends::PacketSends(Fabric& fabric, PacketPool& pool, Peers& peers, Rank self, const Limits& limits)
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

Post PacketSends::send_as(Purpose purpose, Rank to, Packet&& packet) {
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

void PacketSends::send_own(Purpose purpose, Rank to, Packet&& packet) {
  if (!waiting_.empty() || send_as(purpose, to, std::move(packet)) == Post::retry) {
    // NOLINTNEXTLINE(bugprone-use-after-move): refused, so still here
    waiting_.push_back({purpose, to, std::move(packet)});
  }
}

void PacketSends::send_waiting() {
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

Post PacketSends::greet(Rank to) {
  Packet packet = pool_.acquire();
  packet.resize(1);
  *packet.data() = std::byte{0};
  const Post post = send_as(Purpose::greeting, to, std::move(packet));
  if (post == Post::retry) {
    pool_.recycle(std::move(packet));  // NOLINT(bugprone-use-after-move): refused, so still here
  }
  return post;
}

void PacketSends::note_sent(const Operation& operation) {
  InFlight& send = sends_[operation.index];
  pool_.recycle(std::move(send.packet));
  --in_flight_to_[operation.peer.value()];
  --in_flight_;
  free_.push_back(operation.index);
}

}  // namespace plait::net::detail::ofi
