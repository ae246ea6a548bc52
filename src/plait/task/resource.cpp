// SPDX-License-Identifier: Apache-2.0
#include "plait/task/resource.hpp"

#include <cstddef>

#include "plait/base/error.hpp"

namespace plait::task {

bool Resource::try_lock() noexcept {
  // Whatever is there forbids a lock: a lock, shares, and both kinds of holds.
  std::uint64_t free = 0;
  // Acquires what the last holders wrote or read: with release in release().
  if (!state_.compare_exchange_strong(free, locked, std::memory_order_acquire, std::memory_order_relaxed)) {
    return false;
  }
  if (!try_hold_above(hold_for_lock, locked | all_shares)) {
    release(locked);
    return false;
  }
  return true;
}

void Resource::unlock() noexcept {
  expect(is_locked(), "only what is locked is unlocked");
  for (Resource* at = this; at != nullptr; at = at->parent_) {
    at->release(at == this ? locked : hold_for_lock);
  }
}

bool Resource::try_share() noexcept {
  if (!try_add(share, locked | all_holds_for_lock)) {
    return false;
  }
  if (!try_hold_above(hold_for_share, locked)) {
    release(share);
    return false;
  }
  return true;
}

void Resource::unshare() noexcept {
  expect(is_shared(), "only what is shared is unshared");
  for (Resource* at = this; at != nullptr; at = at->parent_) {
    at->release(at == this ? share : hold_for_share);
  }
}

bool Resource::is_within(const Resource& other) const noexcept {
  const Resource* at = this;
  while (at != nullptr && at != &other) {
    at = at->parent_;
  }
  return at != nullptr;
}

/// Adds first and checks then: no loop, however many threads hold what is high in the tree. Who sees what forbids it
/// takes it back; a try that meets this in between fails needlessly, but only because of one that met a real lock.
bool Resource::try_add(std::uint64_t what, std::uint64_t unless) noexcept {
  if ((state() & unless) != 0) {
    return false;  // the frequent failure writes nothing
  }
  if ((state_.fetch_add(what, std::memory_order_acquire) & unless) != 0) {  // with release in release()
    release(what);
    return false;
  }
  return true;
}

bool Resource::try_hold_above(std::uint64_t what, std::uint64_t unless) noexcept {
  for (Resource* above = parent_; above != nullptr; above = above->parent_) {
    if (!above->try_add(what, unless)) {
      release_below(above, what);
      return false;
    }
  }
  return true;
}

/// Takes back what `try_hold_above` has added before it came to `above`.
void Resource::release_below(const Resource* above, std::uint64_t what) noexcept {
  for (Resource* held = parent_; held != above; held = held->parent_) {
    held->release(what);
  }
}

/// All that is taken is subtracted, never stored over: another try may have added its own for a moment.
void Resource::release(std::uint64_t what) noexcept {
  state_.fetch_sub(what, std::memory_order_release);  // with acquire in try_lock() and try_add()
}

bool Claim::excludes(const Claim& other) const noexcept {
  return (access == Access::exclusive || other.access == Access::exclusive) &&
         (resource->is_within(*other.resource) || other.resource->is_within(*resource));
}

bool try_lock_all(std::span<const Claim> claims) noexcept {
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (!claims[i].try_take()) {
      unlock_all(claims.first(i));
      return false;
    }
  }
  return true;
}

void unlock_all(std::span<const Claim> claims) noexcept {
  for (const Claim& claim : claims) {
    claim.release();
  }
}

}  // namespace plait::task
