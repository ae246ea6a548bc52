// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/replay/predict/detail/event_queue.hpp"

namespace plait::replay::predicting {

inline constexpr std::uint32_t none = 0xffff'ffff;

/// The key by which sends and receives match.
struct MatchKey {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  std::uint64_t tag = 0;
  bool is_collective = false;  ///< A message of a collective, which matches no message of the program.
};

/// One end of a message.
enum class End : std::uint8_t { send, receive };

enum class Stage : std::uint8_t {
  waiting,    ///< Posted on one side only, or between its events.
  asked,      ///< The RTS is at the receiver.
  delivered,  ///< All bytes have arrived, at `Message::time`.
};

/// One message, or one receive that has no message yet: a cache line.
struct alignas(64) Message {
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
  Time time = 0;  ///< When its receive was posted; without one, when it was sent or delivered.
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  std::uint32_t next = none;          ///< The next of the same key, or the next free one.
  std::uint32_t next_in_port = none;  ///< In the queue of a network interface.
  std::uint32_t last = none;          ///< In the oldest of a key: the youngest.
  std::uint32_t send = none;          ///< Operation or helper that sends.
  std::uint32_t receive = none;       ///< That receives.
  std::uint32_t searched = 0;         ///< Receives that were posted when it was sent.
  bool is_collective = false;
  Stage stage = Stage::waiting;
  bool is_eager = false;
  bool is_within_host = false;
};
static_assert(sizeof(Message) == 64);

/// All messages that are in flight or unmatched, found by key in constant time.
///
/// The unmatched messages of a key form a queue; the table has the oldest. Memory: 64 bytes for each message, and 4 to
/// 8 for its bucket.
class MessageTable {
 public:
  [[nodiscard]] Message& operator[](std::uint32_t index) noexcept { return messages_[index]; }
  [[nodiscard]] const Message& operator[](std::uint32_t index) const noexcept { return messages_[index]; }

  /// Removes and returns the oldest unmatched message of the key, if it has the end `wanted`; else `none`.
  [[nodiscard]] std::uint32_t take(const MatchKey& key, End wanted);

  /// Adds an unmatched message, the youngest of its key.
  std::uint32_t insert(const MatchKey& key);

  void release(std::uint32_t index);

  /// Whether every send and receive has met its other end.
  [[nodiscard]] bool is_matched() const noexcept { return keys_ == 0; }

  [[nodiscard]] std::size_t bytes() const noexcept {
    return messages_.capacity() * sizeof(Message) + slots_.capacity() * sizeof(Slot);
  }
  /// Prefetches the memory of a key that is needed soon.
  void prefetch(const MatchKey& key) const noexcept {
    if (!slots_.empty()) {
      const Slot& slot = slots_[hash(key) & mask_];
      __builtin_prefetch(slot.oldest != none ? static_cast<const void*>(&messages_[slot.oldest]) : &slot);
    }
  }

 private:
  struct Slot {
    std::uint32_t oldest = none;
    std::uint32_t hash = 0;
  };

  [[nodiscard]] static std::uint32_t hash(const MatchKey& key) noexcept;
  [[nodiscard]] bool is_of(std::uint32_t index, const MatchKey& key) const noexcept;
  /// The slot of a key, or the free one for it. Expects: there is a free one.
  [[nodiscard]] std::size_t slot_of(const MatchKey& key, std::uint32_t hashed) const noexcept;
  void erase(std::size_t slot) noexcept;
  void grow();

  std::vector<Message> messages_;
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::size_t keys_ = 0;
  std::uint32_t free_ = none;
};

}  // namespace plait::replay::predicting
