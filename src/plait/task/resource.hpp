// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

namespace plait::task {

/// How a task uses a resource: alone, to modify it, or with other readers.
enum class Access : std::uint8_t { exclusive, shared };

/// Data that several tasks may read or one task may modify: a cell, a list. Resources form trees: a lock of one covers
/// all below it.
///
/// A lock excludes locks and shares of the same resource, of those above and of those below it; a share excludes the
/// locks there. An object with several kinds of data has a resource for each, in a tree of its own. With `struct Cell {
/// Resource particles; Resource multipoles; };`, a task on the particles excludes none on the multipoles.
///
/// Locks are tried, never waited for, so that there is no deadlock. A try fails only if it meets a lock, a share, or
/// another try. Threads: any. Cost: one atomic operation for each level; a failed try undoes what it has done. The
/// rules are those of multi-granularity locking: Gray, Lorie, Putzolu, Traiger, "Granularity of Locks and Degrees of
/// Consistency in a Shared Data Base", 1976.
class Resource {
 public:
  /// `parent` must outlive this resource.
  explicit Resource(Resource* parent = nullptr) : parent_{parent} {}

  /// Locks this resource. False when it, or one above or below it, is locked or shared.
  [[nodiscard]] bool try_lock() noexcept;
  /// Expects: this caller has locked it.
  void unlock() noexcept;

  /// Shares this resource. False when it, or one above or below it, is locked. At most a million shares and locks may
  /// be below a resource at once.
  [[nodiscard]] bool try_share() noexcept;
  /// Expects: this caller shares it.
  void unshare() noexcept;

  [[nodiscard]] bool is_locked() const noexcept { return (state() & locked) != 0; }      // a hint
  [[nodiscard]] bool is_shared() const noexcept { return (state() & all_shares) != 0; }  // a hint

  /// Returns whether `other` is this resource, or above it. Cost: the levels between.
  [[nodiscard]] bool is_within(const Resource& other) const noexcept;
  /// The one above it; null at the root of a tree.
  [[nodiscard]] const Resource* parent() const noexcept { return parent_; }

 private:
  // The state: three counts and a flag in one word, so that one operation changes one and sees all.
  static constexpr unsigned count_bits = 21;
  static constexpr std::uint64_t share = 1;                                     ///< Who shares this one.
  static constexpr std::uint64_t hold_for_share = share << count_bits;          ///< Shares below this one.
  static constexpr std::uint64_t hold_for_lock = hold_for_share << count_bits;  ///< Locks below this one.
  static constexpr std::uint64_t locked = hold_for_lock << count_bits;
  static constexpr std::uint64_t all_shares = hold_for_share - share;
  static constexpr std::uint64_t all_holds_for_share = hold_for_lock - hold_for_share;
  static constexpr std::uint64_t all_holds_for_lock = locked - hold_for_lock;
  static_assert(locked == std::uint64_t{1} << 63U, "all bits are used");

  [[nodiscard]] std::uint64_t state() const noexcept { return state_.load(std::memory_order_relaxed); }
  bool try_add(std::uint64_t what, std::uint64_t unless) noexcept;
  bool try_hold_above(std::uint64_t what, std::uint64_t unless) noexcept;
  void release_below(const Resource* above, std::uint64_t what) noexcept;
  void release(std::uint64_t what) noexcept;

  Resource* parent_;
  std::atomic<std::uint64_t> state_ = 0;
};

/// The request of a task for one resource.
struct Claim {
  // NOLINTNEXTLINE(google-explicit-constructor): a list of resources is a list of claims
  Claim(Resource* its_resource, Access its_access = Access::exclusive) : resource{its_resource}, access{its_access} {}

  [[nodiscard]] bool try_take() const noexcept {
    return access == Access::shared ? resource->try_share() : resource->try_lock();
  }
  void release() const noexcept { access == Access::shared ? resource->unshare() : resource->unlock(); }
  /// Returns whether no task may hold both. Cost: the depth of the trees.
  [[nodiscard]] bool excludes(const Claim& other) const noexcept;

  Resource* resource;
  Access access;
};

/// Takes all claims or none.
[[nodiscard]] bool try_lock_all(std::span<const Claim> claims) noexcept;
void unlock_all(std::span<const Claim> claims) noexcept;

}  // namespace plait::task
