// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/replay/backend/backend.hpp"
#include "plait/replay/part.hpp"

namespace plait::replay {

/// Before each message in the receiver's memory.
struct SlotHead {
  std::uint64_t flag = 0;  ///< `Slot::flag` when all the rest is there; written last.
  std::uint64_t bytes = 0;
  std::uint64_t tag = 0;
  std::uint64_t source = 0;
};

/// Where one message is.
struct Slot {
  std::uint64_t at = 0;     ///< Of the head, from where what its sender writes begins in the receiver's memory.
  std::uint64_t bytes = 0;  ///< Of the message, which follows the head.
  std::uint64_t flag = 0;   ///< Set when the message is there: 1, and one more each time the slot is used again.
};

/// Where the messages of a rank are in its receivers' memory, or in its own: each has a place for itself.
///
/// Sender and receiver come to the same places from their parts of the schedule alone, without a word: channels, that
/// is communicators and tags, in order, and in each its messages in the order of the log, one after the other.
/// Threads: any may ask for slots.
class Slots {
 public:
  /// Of all that `part` sends, or of all that it receives. Cost: n log n of its messages, once.
  Slots(const RankPart& part, Action direction);

  /// What all messages to, or from, this peer need.
  [[nodiscard]] std::uint64_t bytes(Rank peer) const { return peers_.at(peer.value()).bytes; }
  /// The same on both sides when they agree about all slots.
  [[nodiscard]] std::uint64_t fingerprint(Rank peer) const { return peers_.at(peer.value()).fingerprint; }

  /// The slot of this message, which is the next of its channel. Expects: a message in the direction of these slots.
  [[nodiscard]] Slot next(OperationId message);

 private:
  struct Peer {
    std::uint64_t bytes = 0;
    std::uint64_t fingerprint = 0;
  };
  struct Channel {
    std::size_t first = 0;  ///< In `slots_`.
    std::size_t count = 0;
  };

  std::vector<Peer> peers_;
  std::vector<Slot> slots_;  ///< Without flags.
  std::vector<Channel> channels_;
  std::vector<std::uint32_t> channel_of_;                ///< By operation.
  std::unique_ptr<std::atomic<std::uint64_t>[]> begun_;  ///< Of each channel, the messages so far.
};

}  // namespace plait::replay
