// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "plait/net/packet.hpp"

namespace plait::net::detail {

/// Spare packets of one capacity, last in first out, so that the next one is still in the cache.
class PacketPool {
 public:
  /// Keeps up to `spare_max` packets; what comes back beyond that is freed.
  PacketPool(std::size_t packet_bytes, std::size_t spare_max) : packet_bytes_{packet_bytes}, spare_max_{spare_max} {
    spare_.reserve(spare_max);
  }

  /// A packet of size 0; a new one when no spare one is there.
  [[nodiscard]] Packet acquire() {
    if (spare_.empty()) {
      return Packet{packet_bytes_};
    }
    Packet packet = std::move(spare_.back());
    spare_.pop_back();
    return packet;
  }

  void recycle(Packet&& packet) noexcept {
    Packet taken = std::move(packet);
    if (spare_.size() < spare_max_ && taken.capacity() == packet_bytes_) {
      taken.resize(0);
      spare_.push_back(std::move(taken));  // capacity was reserved: does not throw
    }
  }

  [[nodiscard]] std::size_t packet_bytes() const noexcept { return packet_bytes_; }
  [[nodiscard]] bool is_empty() const noexcept { return spare_.empty(); }
  [[nodiscard]] bool is_full() const noexcept { return spare_.size() == spare_max_; }

 private:
  std::size_t packet_bytes_;
  std::size_t spare_max_;
  std::vector<Packet> spare_;
};

}  // namespace plait::net::detail
