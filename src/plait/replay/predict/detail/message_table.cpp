// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/detail/message_table.hpp"

#include <algorithm>
#include <utility>

namespace plait::replay::predicting {

std::uint32_t MessageTable::hash(const MatchKey& key) noexcept {
  std::uint64_t mixed = (std::uint64_t{key.source} << 32U | key.destination) * 0x9E3779B97F4A7C15U;
  mixed ^= mixed >> 29U;
  mixed += (key.is_collective ? 1 : 0) + key.tag * 0xBF58476D1CE4E5B9U + key.communicator * 0x94D049BB133111EBU;
  mixed ^= mixed >> 32U;
  mixed *= 0xD6E8FEB86659FD93U;
  return static_cast<std::uint32_t>(mixed >> 32U);
}

bool MessageTable::is_of(std::uint32_t index, const MatchKey& key) const noexcept {
  const Message& message = messages_[index];
  return message.source == key.source && message.destination == key.destination && message.tag == key.tag &&
         message.communicator == key.communicator && message.is_collective == key.is_collective;
}

std::size_t MessageTable::slot_of(const MatchKey& key, std::uint32_t hashed) const noexcept {
  std::size_t at = hashed & mask_;
  while (slots_[at].oldest != none && (slots_[at].hash != hashed || !is_of(slots_[at].oldest, key))) {
    at = (at + 1) & mask_;
  }
  return at;
}

/// Moves up later slots that a search would not find past the gap.
void MessageTable::erase(std::size_t slot) noexcept {
  for (std::size_t at = (slot + 1) & mask_; slots_[at].oldest != none; at = (at + 1) & mask_) {
    const std::size_t home = slots_[at].hash & mask_;
    if (((at - home) & mask_) >= ((at - slot) & mask_)) {
      slots_[slot] = slots_[at];
      slot = at;
    }
  }
  slots_[slot].oldest = none;
  --keys_;
}

std::uint32_t MessageTable::take(const MatchKey& key, End wanted) {
  if (keys_ == 0) {
    return none;
  }
  const std::size_t slot = slot_of(key, hash(key));
  const std::uint32_t found = slots_[slot].oldest;
  if (found == none || (messages_[found].receive == none) != (wanted == End::send)) {
    return none;
  }
  Message& oldest = messages_[found];
  if (oldest.next == none) {
    erase(slot);
  } else {
    messages_[oldest.next].last = oldest.last;
    slots_[slot].oldest = oldest.next;
  }
  oldest.next = none;
  return found;
}

std::uint32_t MessageTable::insert(const MatchKey& key) {
  std::uint32_t index = free_;
  if (index == none) {
    index = static_cast<std::uint32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    free_ = messages_[index].next;
    messages_[index] = Message{};
  }
  Message& message = messages_[index];
  message.source = key.source;
  message.destination = key.destination;
  message.communicator = key.communicator;
  message.tag = key.tag;
  message.is_collective = key.is_collective;
  if (2 * (keys_ + 1) > slots_.size()) {
    grow();
  }
  const std::uint32_t hashed = hash(key);
  Slot& slot = slots_[slot_of(key, hashed)];
  if (slot.oldest == none) {
    message.last = index;
    slot = {index, hashed};
    ++keys_;
  } else {
    Message& oldest = messages_[slot.oldest];
    messages_[oldest.last].next = index;
    oldest.last = index;
  }
  return index;
}

void MessageTable::release(std::uint32_t index) {
  messages_[index].next = free_;
  free_ = index;
}

void MessageTable::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(64, 2 * slots_.size())));
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.oldest != none) {
      std::size_t at = slot.hash & mask_;
      while (slots_[at].oldest != none) {
        at = (at + 1) & mask_;
      }
      slots_[at] = slot;
    }
  }
}

}  // namespace plait::replay::predicting
