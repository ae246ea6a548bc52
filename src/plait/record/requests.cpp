// SPDX-License-Identifier: Apache-2.0
#include "plait/record/requests.hpp"

#include <utility>

namespace plait::record {
namespace {

constexpr std::size_t slots_at_start = 64;
constexpr std::size_t nodes_in_block = 128;

/// Fibonacci hashing: the upper bits tell well apart what differs in the lower ones only, as addresses do.
std::uint64_t hash_of(std::uint64_t handle) noexcept {
  return handle * 0x9e37'79b9'7f4a'7c15;
}

}  // namespace

Requests::Requests() {
  for (Shard& shard : shards_) {
    shard.slots.resize(slots_at_start);
  }
}

Requests::Shard& Requests::shard_of(std::uint64_t handle) noexcept {
  return shards_[hash_of(handle) >> (64 - shard_bits)];
}

void Requests::add(std::uint64_t handle, const Operation& operation) {
  Shard& shard = shard_of(handle);
  const std::lock_guard lock{shard.lock};
  Node* node = shard.take_spare();
  node->operation = operation;
  node->next = nullptr;
  Slot& slot = shard.find_or_make(handle);
  if (slot.first == nullptr) {
    slot.first = node;
  } else {
    slot.last->next = node;
  }
  slot.last = node;
}

std::optional<Operation> Requests::complete(std::uint64_t handle, const void* lane) {
  return take(handle, lane, true);
}

std::optional<Operation> Requests::remove(std::uint64_t handle, const void* lane) {
  return take(handle, lane, false);
}

std::optional<Operation> Requests::take(std::uint64_t handle, const void* lane, bool keeps_persistent) {
  Shard& shard = shard_of(handle);
  const std::lock_guard lock{shard.lock};
  Slot* slot = shard.find(handle);
  if (slot == nullptr) {
    return std::nullopt;
  }
  Node* before = nullptr;
  Node* node = slot->first;
  while (node != nullptr && node->operation.lane != lane) {
    before = std::exchange(node, node->next);
  }
  if (node == nullptr) {
    before = nullptr;
    node = slot->first;
  }
  if (keeps_persistent && node->operation.is_persistent) {
    std::optional<Operation> copy{node->operation};
    node->operation.is_active = false;
    node->operation.is_to_be_cancelled = false;
    return copy;
  }
  std::optional<Operation> taken{std::move(node->operation)};
  (before == nullptr ? slot->first : before->next) = node->next;
  if (slot->last == node) {
    slot->last = before;
  }
  node->next = std::exchange(shard.spare, node);
  if (slot->first == nullptr) {
    shard.erase(*slot);
  }
  return taken;
}

void Requests::for_each(const std::function<void(const Operation&)>& look) {
  for (Shard& shard : shards_) {
    const std::lock_guard lock{shard.lock};
    for (const Slot& slot : shard.slots) {
      for (const Node* node = slot.first; node != nullptr; node = node->next) {
        look(node->operation);
      }
    }
  }
}

Requests::Slot* Requests::Shard::find(std::uint64_t handle) noexcept {
  const std::size_t mask = slots.size() - 1;
  for (std::size_t i = (hash_of(handle) >> 20U) & mask; slots[i].first != nullptr; i = (i + 1) & mask) {
    if (slots[i].handle == handle) {
      return &slots[i];
    }
  }
  return nullptr;
}

Requests::Slot& Requests::Shard::find_or_make(std::uint64_t handle) {
  if (Slot* known = find(handle)) {
    return *known;
  }
  if (2 * (used + 1) > slots.size()) {
    grow();
  }
  const std::size_t mask = slots.size() - 1;
  std::size_t i = (hash_of(handle) >> 20U) & mask;
  while (slots[i].first != nullptr) {
    i = (i + 1) & mask;
  }
  slots[i] = {.handle = handle};
  ++used;
  return slots[i];
}

/// Moves later ones up, so that a search may end at the first free slot.
void Requests::Shard::erase(Slot& slot) noexcept {
  const std::size_t mask = slots.size() - 1;
  auto hole = static_cast<std::size_t>(&slot - slots.data());
  for (std::size_t i = (hole + 1) & mask; slots[i].first != nullptr; i = (i + 1) & mask) {
    const std::size_t wanted = (hash_of(slots[i].handle) >> 20U) & mask;
    if (((i - wanted) & mask) >= ((i - hole) & mask)) {
      slots[hole] = slots[i];
      hole = i;
    }
  }
  slots[hole] = {};
  --used;
}

void Requests::Shard::grow() {
  std::vector<Slot> before = std::exchange(slots, std::vector<Slot>(slots.size() * 2));
  const std::size_t mask = slots.size() - 1;
  for (const Slot& slot : before) {
    if (slot.first != nullptr) {
      std::size_t i = (hash_of(slot.handle) >> 20U) & mask;
      while (slots[i].first != nullptr) {
        i = (i + 1) & mask;
      }
      slots[i] = slot;
    }
  }
}

Requests::Node* Requests::Shard::take_spare() {
  if (spare == nullptr) {
    blocks.push_back(std::make_unique<Node[]>(nodes_in_block));
    for (std::size_t i = 0; i < nodes_in_block; ++i) {
      blocks.back()[i].next = std::exchange(spare, &blocks.back()[i]);
    }
  }
  return std::exchange(spare, spare->next);
}

}  // namespace plait::record
