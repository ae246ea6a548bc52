// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/ofi/detail/fabric.hpp"
#include "plait/net/ofi/detail/operation.hpp"

namespace plait::net::detail::ofi {

/// Receives for messages from any rank, posted in advance, and handed over from the oldest on.
///
/// Messages of a peer meet the receives in the order in which they were sent (FI_ORDER_SAS), but a long one may be
/// complete after a short one that follows it. So the oldest receive is waited for, and the order is kept whatever the
/// provider.
class PacketRing {
 public:
  /// Borrows both. Expects: `count` is at least 1.
  PacketRing(Fabric& fabric, PacketPool& pool, std::uint32_t count);

  /// Notes that a receive is over. Expects: one of this ring.
  void note(const Operation& operation, std::size_t bytes, std::uint64_t word);

  struct Message {
    Label label;
    Packet packet;
  };
  /// Takes the oldest message that has come, if any; false otherwise.
  [[nodiscard]] bool take(Message& message);
  enum class Few { later, too };
  /// Posts receives for the places that were taken, if there are many, or `few` `too`.
  void post_missing(Few few);

 private:
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
