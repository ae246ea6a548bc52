// SPDX-License-Identifier: Apache-2.0
#include "plait/record/requests.hpp"

#include <utility>

namespace plait::record {
namespace {

constexpr std::size_t nodes_in_block = 128;

}  // namespace

/// Fibonacci hashing: the upper bits depend on the lower ones, in which addresses differ.
Requests::Shard& Requests::shard_of(std::uint64_t handle) noexcept {
  return shards_[handle * 0x9e37'79b9'7f4a'7c15 >> (64 - shard_bits)];
}

void Requests::add(std::uint64_t handle, const PostedOperation& operation) {
  Shard& shard = shard_of(handle);
  const std::lock_guard lock{shard.lock};
  Node* node = shard.take_spare();
  node->operation = operation;
  node->next = nullptr;
  const auto [chain, is_new] = shard.chains.try_emplace(handle, Chain{node, node});
  if (!is_new) {
    chain->second.last->next = node;
    chain->second.last = node;
  }
}

std::optional<PostedOperation> Requests::take(std::uint64_t handle, const void* thread, Persistent persistent) {
  Shard& shard = shard_of(handle);
  const std::lock_guard lock{shard.lock};
  const auto known = shard.chains.find(handle);
  if (known == shard.chains.end()) {
    return std::nullopt;
  }
  Chain& chain = known->second;
  Node* before = nullptr;
  Node* node = chain.first;
  while (node != nullptr && node->operation.thread != thread) {
    before = std::exchange(node, node->next);
  }
  if (node == nullptr) {
    before = nullptr;
    node = chain.first;
  }
  if (persistent == Persistent::stays && node->operation.is_persistent) {
    std::optional<PostedOperation> copy{node->operation};
    node->operation.is_active = false;
    node->operation.is_to_be_cancelled = false;
    return copy;
  }
  std::optional<PostedOperation> taken{std::move(node->operation)};
  (before == nullptr ? chain.first : before->next) = node->next;
  if (chain.last == node) {
    chain.last = before;
  }
  node->next = std::exchange(shard.spare, node);
  if (chain.first == nullptr) {
    shard.chains.erase(known);
  }
  return taken;
}

void Requests::for_each(const std::function<void(const PostedOperation&)>& visit) {
  for (Shard& shard : shards_) {
    const std::lock_guard lock{shard.lock};
    for (const auto& [handle, chain] : shard.chains) {
      for (const Node* node = chain.first; node != nullptr; node = node->next) {
        visit(node->operation);
      }
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
