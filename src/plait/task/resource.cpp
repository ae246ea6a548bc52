// SPDX-License-Identifier: Apache-2.0
#include "plait/task/resource.hpp"

#include <cstddef>

#include "plait/base/error.hpp"

namespace plait::task {

bool Resource::try_lock() noexcept {
  std::int32_t free = 0;
  // Acquires what the last holder of the lock wrote: with release in unlock() and release_hold().
  if (!state_.compare_exchange_strong(free, locked, std::memory_order_acquire, std::memory_order_relaxed)) {
    return false;
  }
  for (Resource* above = parent_; above != nullptr; above = above->parent_) {
    if (!above->try_hold()) {
      for (Resource* held = parent_; held != above; held = held->parent_) {
        held->release_hold();
      }
      state_.store(0, std::memory_order_release);
      return false;
    }
  }
  return true;
}

void Resource::unlock() noexcept {
  expect(is_locked(), "only what is locked is unlocked");
  state_.store(0, std::memory_order_release);  // with acquire in try_lock() and try_hold()
  for (Resource* above = parent_; above != nullptr; above = above->parent_) {
    above->release_hold();
  }
}

bool Resource::try_hold() noexcept {
  std::int32_t holds = state_.load(std::memory_order_relaxed);
  while (holds != locked) {
    if (state_.compare_exchange_weak(holds, holds + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      return true;  // acquires with release in unlock()
    }
  }
  return false;
}

void Resource::release_hold() noexcept {
  state_.fetch_sub(1, std::memory_order_release);  // with acquire in try_lock()
}

bool try_lock_all(std::span<Resource* const> resources) noexcept {
  for (std::size_t i = 0; i < resources.size(); ++i) {
    if (!resources[i]->try_lock()) {
      unlock_all(resources.first(i));
      return false;
    }
  }
  return true;
}

void unlock_all(std::span<Resource* const> resources) noexcept {
  for (Resource* const resource : resources) {
    resource->unlock();
  }
}

}  // namespace plait::task
