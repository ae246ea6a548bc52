// SPDX-License-Identifier: Apache-2.0
#include "plait/net/ofi/detail/packet_ring.hpp"

#include <rdma/fi_errno.h>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/net/ofi/detail/call.hpp"

namespace plait::net::detail::ofi {
namespace {

/// This part of the receives may be missing while packets keep coming.
constexpr std::size_t missing_part = 4;

}  // namespace

PacketRing::PacketRing(Fabric& fabric, PacketPool& pool, std::uint32_t count)
    : fabric_{fabric}, pool_{pool}, places_(count), missing_{count} {
  for (std::size_t index = 0; index < places_.size(); ++index) {
    places_[index].operation.kind = Operation::Kind::receive;
    places_[index].operation.index = index;
  }
  post_missing(Few::too);
  expect(missing_ < count, "a new endpoint takes receives");
}

void PacketRing::note(const Operation& operation, std::size_t bytes, std::uint64_t word) {
  Place& place = places_[operation.index];
  place.packet.resize(bytes);
  place.word = word;
  place.has_come = true;
}

bool PacketRing::take(Message& message) {
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

/// Oldest place first, so that the order in which messages meet receives stays ring order.
void PacketRing::post_missing(Few few) {
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

}  // namespace plait::net::detail::ofi
