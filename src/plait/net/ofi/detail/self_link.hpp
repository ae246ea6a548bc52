// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/driver.hpp"

namespace plait::net::detail::ofi {

/// What a rank sends to itself: needs no network, and few providers are good at it.
class SelfLink {
 public:
  struct Limits {
    std::size_t packets_max = 0;
    std::size_t bulk_max = 0;  ///< Transfers at once.
    std::size_t bytes_per_step = 0;
  };

  explicit SelfLink(const Limits& limits) : limits_{limits} {}

  /// As `Driver::send`, to this rank.
  [[nodiscard]] Post send(Packet&& packet);
  /// Moves the oldest packet out, if there is one.
  [[nodiscard]] bool take(Packet& packet);

  [[nodiscard]] Post send_bulk(const BulkSend& bulk);
  void receive_bulk(const BulkReceive& bulk) { receives_.push_back(bulk); }
  /// Copies a piece of the oldest transfer; appends both its ends to `done` when it is over.
  void progress(std::vector<BulkDone>& done);
  [[nodiscard]] bool is_empty() const noexcept { return sends_.empty(); }

 private:
  Limits limits_;
  std::deque<Packet> packets_;
  std::deque<BulkSend> sends_;
  std::vector<BulkReceive> receives_;
  std::size_t bytes_copied_ = 0;  ///< Of the oldest send.
};

}  // namespace plait::net::detail::ofi
