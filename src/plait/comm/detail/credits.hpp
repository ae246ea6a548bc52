// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/comm/detail/peer_table.hpp"

namespace plait::comm::detail {

/// Bounds the packets with messages in flight to and from each peer.
///
/// A packet costs the sender a credit. The receiver returns it after processing, with the next packet to the sender, or
/// in a packet of its own when half of all credits are to be returned. Threads: one at a time.
class Credits {
 public:
  Credits(std::uint32_t peer_count, std::uint32_t credits_of_a_peer)
      : of_a_peer_{credits_of_a_peer},
        peers_{peer_count, [credits_of_a_peer](Rank) { return Peer{.left = credits_of_a_peer}; }} {}

  // To send.
  [[nodiscard]] bool has(Rank peer) { return peers_[peer].left > 0; }
  void use(Rank peer) { --peers_[peer].left; }
  void add(Rank peer, std::uint32_t count) { peers_[peer].left += count; }

  // To return.
  void note_processed(Rank peer) {
    Peer& from = peers_[peer];
    ++from.due;
    if (!std::exchange(from.is_listed, true)) {
      listed_.push_back(peer);
    }
  }
  /// Whether packets were processed since `return_due`.
  [[nodiscard]] bool has_processed() const noexcept { return !listed_.empty(); }
  /// What the next packet to `peer` returns.
  [[nodiscard]] std::uint32_t take_due(Rank peer) { return std::exchange(peers_[peer].due, 0); }
  /// Calls `send(peer)` for each peer to which half of its credits are to be returned.
  template <class Send>
  void return_due(Send send) {
    for (const Rank peer : listed_) {
      Peer& from = peers_[peer];
      from.is_listed = false;
      if (from.due * 2 >= of_a_peer_) {
        send(peer);
      }
    }
    listed_.clear();
  }

 private:
  struct Peer {
    std::uint32_t left = 0;
    std::uint32_t due = 0;
    bool is_listed = false;
  };

  std::uint32_t of_a_peer_;
  PeerTable<Peer> peers_;
  std::vector<Rank> listed_;  ///< Peers whose packets were processed since `return_due`.
};

}  // namespace plait::comm::detail
