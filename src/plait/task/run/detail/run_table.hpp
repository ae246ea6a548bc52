// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/task/run/detail/run_state.hpp"

namespace plait::task::detail {

/// The runs that are open on a scheduler. A run's place is its epoch modulo the number of places, so that the four
/// bytes of `Node::epoch` lead from a task to its run.
///
/// Threads: `add` from any; `find` from one that has a task of the run; `remove` and `for_each` from one at a time.
class RunTable {
 public:
  static constexpr std::uint32_t runs_max = 64;

  /// Sets the run's epoch. Throws: `Error` with `bad_argument` when `runs_max` are open.
  void add(std::shared_ptr<RunState> run) {
    const std::lock_guard lock{lock_};
    const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    if (std::popcount(taken) == static_cast<int>(runs_max)) {
      throw Error{ErrorCode::bad_argument, "64 runs are open on this scheduler, which is the most: wait for one first"};
    }
    do {
      ++last_epoch_;
    } while (last_epoch_ == 0 || (taken >> (last_epoch_ % runs_max) & 1U) != 0);
    run->epoch = last_epoch_;
    runs_[last_epoch_ % runs_max] = std::move(run);
    taken_.store(taken | std::uint64_t{1} << (last_epoch_ % runs_max), std::memory_order_release);  // with for_each()
  }

  /// Makes the run visible to workers without tasks, see `has_work`. A graph's run is let in after it is activated: a
  /// worker that steals earlier contends for the lock of the queue that activation fills.
  void let_in(const RunState& run) noexcept {
    let_in_.fetch_or(std::uint64_t{1} << (run.epoch % runs_max), std::memory_order_release);  // with has_work()
  }

  /// The run of an epoch that is open.
  [[nodiscard]] RunState& find(std::uint32_t epoch) const noexcept { return *runs_[epoch % runs_max]; }

  /// Takes a run out.
  std::shared_ptr<RunState> remove(const RunState& run) noexcept {
    const std::lock_guard lock{lock_};
    const std::uint32_t place = run.epoch % runs_max;
    std::shared_ptr<RunState> removed = std::move(runs_[place]);
    let_in_.fetch_and(~(std::uint64_t{1} << place), std::memory_order_relaxed);
    taken_.store(taken_.load(std::memory_order_relaxed) & ~(std::uint64_t{1} << place), std::memory_order_release);
    return removed;
  }

  /// Calls `visit(RunState&)` for each open run; it may remove the one that it is called with.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint64_t left = taken_.load(std::memory_order_acquire); left != 0; left &= left - 1) {  // with add()
      visit(*runs_[static_cast<std::uint32_t>(std::countr_zero(left))]);
    }
  }

  [[nodiscard]] bool is_empty() const noexcept { return taken_.load(std::memory_order_acquire) == 0; }
  /// Whether any run is let in.
  [[nodiscard]] bool has_work() const noexcept {
    return let_in_.load(std::memory_order_acquire) != 0;  // with let_in()
  }
  /// A hint, out of date when it returns.
  [[nodiscard]] bool has_several() const noexcept {
    const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    return (taken & (taken - 1)) != 0;
  }

 private:
  SpinLock lock_;
  std::atomic<std::uint64_t> taken_ = 0;   ///< A bit a place.
  std::atomic<std::uint64_t> let_in_ = 0;  ///< The same, of runs that are let in.
  std::uint32_t last_epoch_ = 0;
  std::array<std::shared_ptr<RunState>, runs_max> runs_;
};

}  // namespace plait::task::detail
