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

/// The open run of a front end. It opens with the first task, closes at a wait, and fails once. A window bounds its
/// tasks, and a count reports whether any task will end by itself.
///
/// Threads: any for counts and `run`; one at a time for the rest.
class RunFront {
 public:
  /// `name`: in errors ("flow"). `describe`: as for `OpenRun`. `window`: the number of unfinished tasks above which a
  /// thread that adds more executes some first. Throws: `Error` with `bad_argument` for a window of 0.
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
  /// Ends the run, while the scheduler still exists.
  void abandon() noexcept { run_.reset(); }

  // ---- failure ----
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  /// Ends all runs of the scheduler, and throws.
  [[noreturn]] void fail(const Error& error);
  /// Throws: the error that has ended the run; after that, one that the front end can only be destroyed.
  void throw_if_failed();
  /// Marks the front end as failed; the caller throws the error.
  void mark_failed() noexcept { has_failed_ = true; }

  // ---- unfinished tasks ----
  void begin() noexcept { unfinished_.fetch_add(1, std::memory_order_relaxed); }  // a thread that waits for 0 has begun
  void end() noexcept { unfinished_.fetch_sub(1, std::memory_order_release); }    // with unfinished()
  [[nodiscard]] std::uint32_t unfinished() const noexcept { return unfinished_.load(std::memory_order_acquire); }
  /// Returns whether tasks fill the window.
  [[nodiscard]] bool is_full() const noexcept { return unfinished_.load(std::memory_order_relaxed) >= window_; }
  /// Returns whether a quarter of the window is free again.
  [[nodiscard]] bool has_room() const noexcept { return unfinished() <= window_ - (window_ + 3) / 4; }

  // ---- tasks that will end whatever the threads outside do ----
  /// A task that makes another one ready still counts itself.
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
