// SPDX-License-Identifier: Apache-2.0
#include "plait/task/detail/ready_queue.hpp"

#include <algorithm>
#include <mutex>

namespace plait::task::detail {

namespace {

/// Below this, moving tasks to another core takes longer than running them: a few cache lines for each task.
constexpr std::uint64_t stolen_min_ns = 2'000;
constexpr std::uint64_t unknown_cost_ns = 2'000;

}  // namespace

std::uint64_t ReadyQueue::expected_ns(const Node& node) noexcept {
  return node.cost_ns > 0 ? static_cast<std::uint64_t>(node.cost_ns) : unknown_cost_ns;
}

bool ReadyQueue::is_lighter(const Entry& left, const Entry& right) noexcept {
  return left.weight != right.weight ? left.weight < right.weight : left.order > right.order;
}

void ReadyQueue::tell_size() noexcept {
  const float falling = has_falling() ? falling_[first_falling_].weight : 0;
  const float heap = heap_.empty() ? 0 : heap_.front().weight;
  urgency_max_.store(std::max(falling, heap), std::memory_order_relaxed);                   // a hint
  size_.store(heap_.size() + falling_.size() - first_falling_, std::memory_order_relaxed);  // a hint
  const bool is_worth_stealing = work_ns_ >= stolen_min_ns || (is_unattended_ && (has_falling() || !heap_.empty()));
  if (is_worth_stealing != is_worth_stealing_.load(std::memory_order_relaxed)) {
    is_worth_stealing_.store(is_worth_stealing, std::memory_order_relaxed);
  }
}

void ReadyQueue::insert(Node& node) {
  const Entry entry{node.urgency(), next_order_++, &node};
  work_ns_ += expected_ns(node);
  if (first_falling_ * 2 >= falling_.size()) {  // more gone than there: what moves is paid by what went
    falling_.erase(falling_.begin(), falling_.begin() + static_cast<std::ptrdiff_t>(first_falling_));
    first_falling_ = 0;
  }
  if (falling_.empty() || entry.weight <= falling_.back().weight) {
    falling_.push_back(entry);
  } else {
    heap_.push_back(entry);
    std::ranges::push_heap(heap_, is_lighter);
  }
}

void ReadyQueue::push(Node& node) {
  const std::lock_guard lock{mutex_};
  insert(node);
  tell_size();
}

void ReadyQueue::set_unattended(bool is_unattended) {
  const std::lock_guard lock{mutex_};
  is_unattended_ = is_unattended;
  tell_size();
}

/// In order of arrival.
void ReadyQueue::empty_inbox() {
  if (inbox_.is_empty()) {
    return;
  }
  Node* newest = inbox_.take_all();
  Node* oldest = nullptr;
  while (newest != nullptr) {
    Node* const before = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = before;
  }
  while (oldest != nullptr) {
    Node* const after = oldest->next;
    insert(*oldest);
    oldest = after;
  }
}

/// Expects: there is one.
ReadyQueue::Entry ReadyQueue::take_heaviest() {
  if (heap_.empty() || (has_falling() && is_lighter(heap_.front(), falling_[first_falling_]))) {
    return falling_[first_falling_++];
  }
  std::ranges::pop_heap(heap_, is_lighter);
  const Entry entry = heap_.back();
  heap_.pop_back();
  return entry;
}

std::size_t ReadyQueue::take(std::span<Node*> room, float short_max_ns) {
  if (is_empty()) {
    return 0;
  }
  const std::lock_guard lock{mutex_};
  empty_inbox();
  return take_locked(room, short_max_ns);
}

std::size_t ReadyQueue::steal(std::span<Node*> room, float short_max_ns) {
  if (is_empty()) {
    return 0;
  }
  const std::unique_lock lock{mutex_, std::try_to_lock};
  if (!lock.owns_lock()) {
    return 0;
  }
  empty_inbox();
  const std::size_t half = (heap_.size() + falling_.size() - first_falling_ + 1) / 2;
  return take_locked(room.first(std::min(room.size(), half)), short_max_ns);
}

std::size_t ReadyQueue::take_locked(std::span<Node*> room, float short_max_ns) {
  std::size_t count = 0;
  bool is_short = true;
  while (count < room.size() && is_short && (has_falling() || !heap_.empty())) {
    const Entry heaviest = take_heaviest();
    Node& node = *heaviest.node;
    if (!node.has_claims || try_lock_all(*node.claims)) {
      room[count++] = &node;
      work_ns_ -= expected_ns(node);
      // What holds locks runs at once: others may want them.
      is_short = !node.has_claims && node.cost_ns > 0 && node.cost_ns < short_max_ns;
    } else {
      set_aside_.push_back({heaviest.weight / 2, heaviest.order, &node});
    }
  }
  for (const Entry& entry : set_aside_) {
    heap_.push_back(entry);
    std::ranges::push_heap(heap_, is_lighter);
  }
  set_aside_.clear();
  tell_size();
  return count;
}

}  // namespace plait::task::detail
