// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/replay/predict/detail/event_queue.hpp"

namespace plait::replay::predicting {

inline constexpr std::uint32_t none = 0xffff'ffff;

/// What messages and receives are matched by.
struct MatchKey {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  std::uint64_t tag = 0;
  bool is_collective = false;  ///< A collective's own message; those of the program do not meet it.
};

/// One end of a message.
enum class End : std::uint8_t { send, receive };

enum class Stage : std::uint8_t {
  waiting,    ///< Begun on one side only, or between its events.
  asked,      ///< Rendezvous: the question is at the receiver.
  delivered,  ///< All bytes are there; since `Message::time`.
};

/// One message, or one receive that has no message yet: a cache line. Unmatched, it has one end only.
struct alignas(64) Message {
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
  Time time = 0;  ///< When its receive was posted; without one, when it was sent or, later, delivered.
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  std::uint32_t next = none;          ///< The next one of the key; among free ones, the next there.
  std::uint32_t next_in_port = none;  ///< In the queue of a network interface.
  std::uint32_t last = none;          ///< Of the oldest of a key: the youngest.
  std::uint32_t send = none;          ///< Operation or helper that sends.
  std::uint32_t receive = none;       ///< That receives.
  bool is_collective = false;
  Stage stage = Stage::waiting;
  bool is_eager = false;
  bool is_within_host = false;
};
static_assert(sizeof(Message) == 64);

/// All messages that are on their way or wait for their other end, found by key in constant time whatever their number.
///
/// Of each key the unmatched ones form a queue; only its oldest is in the table's bucket. Memory: 64 bytes for each
/// message that is open at one time, and 4 to 8 for its bucket.
class MessageTable {
 public:
  [[nodiscard]] Message& operator[](std::uint32_t index) noexcept { return messages_[index]; }
  [[nodiscard]] const Message& operator[](std::uint32_t index) const noexcept { return messages_[index]; }

  /// Takes out the oldest unmatched one of the key if it is of the end wanted; else `none`.
  [[nodiscard]] std::uint32_t take(const MatchKey& key, End wanted);

  /// A new message, unmatched, the youngest of its key.
  std::uint32_t insert(const MatchKey& key);

  void release(std::uint32_t index);

  /// Calls `visit(message)` for each that is unmatched.
  template <class Visit>
  void for_each_unmatched(Visit visit) const {
    for (const Slot& slot : slots_) {
      for (std::uint32_t at = slot.oldest; at != none; at = messages_[at].next) {
        visit(messages_[at]);
      }
    }
  }

  [[nodiscard]] std::size_t bytes() const noexcept {
    return messages_.capacity() * sizeof(Message) + slots_.capacity() * sizeof(Slot);
  }
  /// Asks for the memory of a key that is needed soon.
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
  /// The slot of a key, or the free one where it belongs. Expects: there is a free one.
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
