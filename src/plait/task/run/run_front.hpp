// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "plait/base/error.hpp"
#include "plait/task/open_run.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task {

/// What front ends of an open run have in common: the run opens with the first task and closes at a wait, a window
/// bounds its tasks, it is known whether any will end by itself, and it fails once.
///
/// Threads: counts and `run` from any, the rest from one at a time.
class RunFront {
 public:
  /// `name`: in errors ("flow"). `describe`: what waits, as for `OpenRun`. `window`: tasks that have not ended, above
  /// which the thread that adds more executes some first. Throws: `Error` with `bad_argument` for a window of 0.
  RunFront(Scheduler& scheduler, std::string_view name, std::uint32_t window, std::function<std::string()> describe);

  // ---- the run ----
  /// Opens the run if it is not.
  OpenRun& open() {
    if (!run_) {
      run_.emplace(scheduler_, describe_);
    }
    return *run_;
  }
  /// Expects: it is open.
  [[nodiscard]] OpenRun& run() noexcept { return *run_; }
  [[nodiscard]] bool is_open() const noexcept { return run_.has_value(); }
  /// Waits until all tasks have ended. Throws: as `OpenRun::close`; the front end has then failed.
  void close();
  /// Gives up what only a living scheduler can do.
  void abandon() noexcept { run_.reset(); }

  // ---- failure ----
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  /// Ends all runs of the scheduler, and throws.
  [[noreturn]] void fail(const Error& error);
  /// Throws: what has ended the run; when that was thrown before, that the front end can only be ended.
  void throw_if_failed();
  /// The error is thrown by the caller.
  void mark_failed() noexcept { has_failed_ = true; }

  // ---- what has not ended ----
  void begin() noexcept { unfinished_.fetch_add(1, std::memory_order_relaxed); }  // a thread that waits for 0 has begun
  void end() noexcept { unfinished_.fetch_sub(1, std::memory_order_release); }    // with unfinished()
  [[nodiscard]] std::uint32_t unfinished() const noexcept { return unfinished_.load(std::memory_order_acquire); }
  /// Whether tasks fill the window.
  [[nodiscard]] bool is_full() const noexcept { return unfinished_.load(std::memory_order_relaxed) >= window_; }
  /// Whether a quarter of the window is free again.
  [[nodiscard]] bool has_room() const noexcept { return unfinished() <= window_ - (window_ + 3) / 4; }

  // ---- what will end whatever the threads outside do ----
  /// What makes a task ready still counts itself.
  void move(std::uint32_t count = 1) noexcept { in_motion_.fetch_add(count, std::memory_order_relaxed); }
  void rest(std::uint32_t count = 1) noexcept { in_motion_.fetch_sub(count, std::memory_order_release); }
  [[nodiscard]] bool is_moving() const noexcept {
    return in_motion_.load(std::memory_order_acquire) > 0;
  }  // with rest()

 private:
  Scheduler& scheduler_;
  const std::string name_;
  const std::uint32_t window_;
  const std::function<std::string()> describe_;
  bool has_failed_ = false;
  std::atomic<std::uint32_t> unfinished_ = 0;
  std::atomic<std::uint32_t> in_motion_ = 0;
  std::optional<OpenRun> run_;
};

}  // namespace plait::task
