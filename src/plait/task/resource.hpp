// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

namespace plait::task {

/// Something that one task at a time may change: a cell, a list. Resources form trees: who has one has all below it.
///
/// Locking a resource holds its ancestors: a held resource cannot be locked, but may be held any number of times. All
/// is try-only: nothing waits, so nothing can deadlock. Threads: any. Cost: one atomic exchange for each level.
class Resource {
 public:
  /// `parent` must outlive this resource.
  explicit Resource(Resource* parent = nullptr) : parent_{parent} {}
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;
  Resource(Resource&&) = delete;
  Resource& operator=(Resource&&) = delete;
  ~Resource() = default;

  /// False when this resource, one above or one below it is locked.
  [[nodiscard]] bool try_lock() noexcept;
  /// Expects: this caller has locked it.
  void unlock() noexcept;

  [[nodiscard]] bool is_locked() const noexcept { return state_.load(std::memory_order_relaxed) == locked; }  // a hint

 private:
  static constexpr std::int32_t locked = -1;

  bool try_hold() noexcept;
  void release_hold() noexcept;

  Resource* parent_;
  std::atomic<std::int32_t> state_ = 0;  ///< -1: locked; else how many locked resources stand below.
};

/// Locks all or none.
[[nodiscard]] bool try_lock_all(std::span<Resource* const> resources) noexcept;
void unlock_all(std::span<Resource* const> resources) noexcept;

}  // namespace plait::task
