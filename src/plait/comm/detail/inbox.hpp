// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "plait/comm/detail/incoming.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/peer_table.hpp"
#include "plait/comm/matching.hpp"

namespace plait::comm::detail {

/// The posted receives and unexpected messages of an engine.
///
/// A peer whose unexpected messages take more memory than a limit must use rendezvous until less than half of it is
/// used. Threads: one at a time. Owns the unexpected messages; borrows the receives.
class Inbox {
 public:
  Inbox(std::uint32_t peer_count, std::size_t unexpected_bytes_max)
      : unexpected_bytes_max_{unexpected_bytes_max}, peers_{peer_count, [](Rank) { return Peer{}; }} {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  ~Inbox() {
    matcher_.for_each_unexpected([](const UnexpectedMessage& message) {
      const auto* const full = static_cast<const Unexpected*>(&message);
      release(full->staging);  // the message's own count
      delete full;
    });
  }

  /// Takes the receive that matches a message; null when there is none.
  [[nodiscard]] Operation* match(const MessageEnvelope& message) {
    return static_cast<Operation*>(matcher_.match(message));
  }
  /// Takes the unexpected message that `receive` matches. Posts `receive` and returns null when there is none.
  [[nodiscard]] std::unique_ptr<Unexpected> post(Operation& receive) { return owned(matcher_.post(receive)); }
  /// False when `receive` is matched already.
  [[nodiscard]] bool cancel(Operation& receive) { return matcher_.cancel(receive); }
  [[nodiscard]] const Unexpected* probe(const MessageEnvelope& receive) {
    return static_cast<const Unexpected*>(matcher_.probe(receive));
  }
  /// As `probe`, but takes the message.
  [[nodiscard]] std::unique_ptr<Unexpected> claim(const MessageEnvelope& receive) {
    return owned(matcher_.claim(receive));
  }

  /// Keeps a message for which `match` has just returned null. True when its source must use rendezvous from now on.
  [[nodiscard]] bool keep(std::unique_ptr<Unexpected> message) {
    Peer& source = peers_[message->envelope.source];
    source.bytes += message->memory_bytes;
    matcher_.keep(*message.release());  // owned again when it is taken out of the matcher
    return source.bytes > unexpected_bytes_max_ && !std::exchange(source.is_rendezvous_only, true);
  }

  /// Counts the memory of a message that was taken out as free. True when its source may send eagerly again.
  [[nodiscard]] bool free_memory(const Unexpected& message) {
    Peer& source = peers_[message.envelope.source];
    source.bytes -= message.memory_bytes;
    return source.bytes * 2 < unexpected_bytes_max_ && std::exchange(source.is_rendezvous_only, false);
  }

  /// Whether there is memory for another `bytes` from `source`.
  [[nodiscard]] bool has_room(Rank source, std::size_t bytes) {
    return peers_[source].bytes + bytes <= unexpected_bytes_max_;
  }

  [[nodiscard]] const Matcher& matcher() const noexcept { return matcher_; }

 private:
  struct Peer {
    std::size_t bytes = 0;
    bool is_rendezvous_only = false;
  };
  static std::unique_ptr<Unexpected> owned(UnexpectedMessage* message) {
    return std::unique_ptr<Unexpected>{static_cast<Unexpected*>(message)};
  }

  const std::size_t unexpected_bytes_max_;
  Matcher matcher_;
  PeerTable<Peer> peers_;
};

}  // namespace plait::comm::detail
