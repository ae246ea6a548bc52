// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <rdma/fi_errno.h>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/ofi/detail/call.hpp"
#include "plait/net/ofi/detail/fabric.hpp"
#include "plait/net/ofi/detail/operation.hpp"

namespace plait::net::detail::ofi {

/// Receives for messages from any rank, posted in advance and taken from the oldest.
///
/// Messages of a peer match the receives in the order of sending (FI_ORDER_SAS), but may complete in another order.
/// Taking the oldest first restores it.
class PacketRing {
 public:
  /// Borrows both. Expects: `count` is at least 1.
  PacketRing(Fabric& fabric, PacketPool& pool, std::uint32_t count)
      : fabric_{fabric}, pool_{pool}, places_(count), missing_{count} {
    for (std::size_t index = 0; index < places_.size(); ++index) {
      places_[index].operation.kind = Operation::Kind::receive;
      places_[index].operation.index = index;
    }
    post_missing(Few::too);
    expect(missing_ < count, "a new endpoint takes receives");
  }

  /// Notes that a receive is over. Expects: one of this ring.
  void note(const Operation& operation, std::size_t bytes, std::uint64_t word) {
    Place& place = places_[operation.index];
    place.packet.resize(bytes);
    place.word = word;
    place.has_come = true;
  }

  struct Message {
    Label label;
    Packet packet;
  };

  /// Takes the oldest message that has come, if any; false otherwise.
  [[nodiscard]] bool take(Message& message) {
    Place& place = places_[head_];
    if (!place.has_come) {
      return false;
    }
    place.has_come = false;
    message.label = decode(place.word);
    message.packet = std::move(place.packet);
    head_ = head_ + 1 == places_.size() ? 0 : head_ + 1;
    ++missing_;
    return true;
  }

  enum class Few { later, too };

  /// Posts receives for the places that were taken, if there are many, or `few` `too`.
  void post_missing(Few few) {
    if (few == Few::later && missing_ <= places_.size() / missing_part) {
      return;
    }
    for (; missing_ > 0; --missing_) {
      const std::size_t index = head_ >= missing_ ? head_ - missing_ : head_ + places_.size() - missing_;
      Place& place = places_[index];
      if (!place.packet) {
        place.packet = pool_.acquire();
      }
      const ssize_t code = fi_recv(
          fabric_.endpoint(), place.packet.data(), place.packet.capacity(), nullptr, FI_ADDR_UNSPEC, &place.operation);
      if (code == -FI_EAGAIN) {
        return;
      }
      check_ofi(code, "fi_recv");
    }
  }

 private:
  /// This part of the receives may be missing while packets arrive.
  static constexpr std::size_t missing_part = 4;

  struct Place {
    Operation operation;
    Packet packet;
    bool has_come = false;
    std::uint64_t word = 0;
  };

  Fabric& fabric_;
  PacketPool& pool_;
  std::vector<Place> places_;
  std::size_t head_ = 0;     ///< The oldest posted receive.
  std::size_t missing_ = 0;  ///< Places before the head that are not posted.
};

}  // namespace plait::net::detail::ofi
