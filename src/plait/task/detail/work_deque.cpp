// SPDX-License-Identifier: Apache-2.0
#include "plait/task/detail/work_deque.hpp"

namespace plait::task::detail {

// Where the paper has a fence, here the neighbouring accesses are sequentially consistent: as fast on the machines at
// hand, and understood by the thread sanitizer.

void WorkDeque::grow(std::int64_t capacity) {
  auto larger = std::make_unique<Ring>(capacity);
  if (const Ring* const present = ring_.load(std::memory_order_relaxed)) {  // only the owner writes it
    for (std::int64_t i = top_.load(std::memory_order_relaxed); i < bottom_.load(std::memory_order_relaxed); ++i) {
      larger->at(i).store(present->at(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
  }
  ring_.store(larger.get(), std::memory_order_release);  // with steal()
  rings_.push_back(std::move(larger));
}

void WorkDeque::push(Node& node) {
  const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
  const std::int64_t top = top_.load(std::memory_order_acquire);  // with steal(): the slot is free
  const Ring* ring = ring_.load(std::memory_order_relaxed);
  if (bottom - top >= ring->capacity) {
    grow(ring->capacity * 2);
    ring = ring_.load(std::memory_order_relaxed);
  }
  ring->at(bottom).store(&node, std::memory_order_relaxed);
  bottom_.store(bottom + 1, std::memory_order_release);  // with steal(): publishes the node
}

Node* WorkDeque::pop() noexcept {
  if (size() == 0) {  // only this thread adds: what it sees as empty is
    return nullptr;
  }
  const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
  const Ring* const ring = ring_.load(std::memory_order_relaxed);
  bottom_.store(bottom, std::memory_order_seq_cst);  // before the next line, for all: thieves see one less
  std::int64_t top = top_.load(std::memory_order_seq_cst);
  if (top > bottom) {
    bottom_.store(bottom + 1, std::memory_order_relaxed);
    return nullptr;
  }
  Node* node = ring->at(bottom).load(std::memory_order_relaxed);
  if (top == bottom) {  // the last one: a thief may want it, too
    if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) {
      node = nullptr;
    }
    bottom_.store(bottom + 1, std::memory_order_relaxed);
  }
  return node;
}

Node* WorkDeque::steal() noexcept {
  std::int64_t top = top_.load(std::memory_order_seq_cst);
  const std::int64_t bottom = bottom_.load(std::memory_order_seq_cst);  // acquires, with push()
  if (top >= bottom) {
    return nullptr;
  }
  Node* const node = ring_.load(std::memory_order_acquire)->at(top).load(std::memory_order_relaxed);
  return top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed) ? node
                                                                                                          : nullptr;
}

}  // namespace plait::task::detail
