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

/// The header of a message in the receiver's memory.
struct SlotHead {
  std::uint64_t flag = 0;  ///< `Slot::flag` when the message has arrived; written last.
  std::uint64_t bytes = 0;
  std::uint64_t tag = 0;
  std::uint64_t source = 0;
};

/// The place of one message.
struct Slot {
  std::uint64_t at = 0;     ///< Offset of the header in the memory for this sender.
  std::uint64_t bytes = 0;  ///< Of the message, which follows the header.
  std::uint64_t flag = 0;   ///< Counts the uses of the slot, from 1.
};

/// The places of all messages of a rank in the memory of receivers: each message of the schedule has its own.
///
/// Sender and receiver compute equal places from their own parts of the schedule: channels (communicator and tag) in
/// order, and in each channel its messages in the order of the log. Threads: any may call `next`.
class Slots {
 public:
  /// For all that `part` sends, or all that it receives. Cost: sorts its messages.
  Slots(const RankPart& part, Action direction);

  /// The memory for all messages to, or from, this peer.
  [[nodiscard]] std::uint64_t bytes(Rank peer) const { return peers_.at(peer.value()).bytes; }
  /// Equal on both sides if all slots are.
  [[nodiscard]] std::uint64_t fingerprint(Rank peer) const { return peers_.at(peer.value()).fingerprint; }

  /// The slot of the next message of a channel. Expects: a message in the direction of these slots.
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
  std::unique_ptr<std::atomic<std::uint64_t>[]> begun_;  ///< Messages of each channel so far.
};

}  // namespace plait::replay
