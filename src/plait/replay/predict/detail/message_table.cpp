// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/detail/message_table.hpp"

#include <algorithm>
#include <utility>

namespace plait::replay::predicting {

std::uint64_t MessageTable::hash(const MatchKey& key) noexcept {
  std::uint64_t mixed = (std::uint64_t{key.source} << 32U | key.destination) * 0x9E3779B97F4A7C15U;
  mixed ^= mixed >> 29U;
  mixed += (key.is_collective ? 1 : 0) + key.tag * 0xBF58476D1CE4E5B9U + key.communicator * 0x94D049BB133111EBU;
  mixed ^= mixed >> 32U;
  mixed *= 0xD6E8FEB86659FD93U;
  return mixed ^ mixed >> 32U;
}

bool MessageTable::is_of(std::uint32_t index, const MatchKey& key) const noexcept {
  const Message& message = messages_[index];
  return message.source == key.source && message.destination == key.destination && message.tag == key.tag &&
         message.communicator == key.communicator && message.is_collective == key.is_collective;
}

std::uint32_t MessageTable::take(const MatchKey& key, End wanted) {
  if (keys_ == 0) {
    return none;
  }
  std::uint32_t* link = &buckets_[hash(key) & mask_];
  while (*link != none && !is_of(*link, key)) {
    link = &messages_[*link].next_in_bucket;
  }
  const std::uint32_t found = *link;
  if (found == none || (messages_[found].receive == none) != (wanted == End::send)) {
    return none;
  }
  Message& oldest = messages_[found];
  if (oldest.next == none) {
    *link = oldest.next_in_bucket;
    --keys_;
  } else {
    Message& following = messages_[oldest.next];
    following.last = oldest.last;
    following.next_in_bucket = oldest.next_in_bucket;
    *link = oldest.next;
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
  if (keys_ >= buckets_.size()) {
    grow();
  }
  std::uint32_t* link = &buckets_[hash(key) & mask_];
  while (*link != none && !is_of(*link, key)) {
    link = &messages_[*link].next_in_bucket;
  }
  if (*link == none) {
    message.last = index;
    *link = index;
    ++keys_;
  } else {
    Message& oldest = messages_[*link];
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
  const std::vector<std::uint32_t> old =
      std::exchange(buckets_, std::vector<std::uint32_t>(std::max<std::size_t>(64, 2 * buckets_.size()), none));
  mask_ = buckets_.size() - 1;
  for (std::uint32_t oldest : old) {
    while (oldest != none) {
      Message& message = messages_[oldest];
      const std::uint32_t following = message.next_in_bucket;
      std::uint32_t& bucket = buckets_
          [hash({message.source, message.destination, message.communicator, message.tag, message.is_collective}) &
           mask_];
      message.next_in_bucket = std::exchange(bucket, oldest);
      oldest = following;
    }
  }
}

}  // namespace plait::replay::predicting
