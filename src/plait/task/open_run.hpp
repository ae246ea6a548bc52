// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "plait/base/error.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task {

/// A run whose tasks come while it goes on: what a flow stands on.
///
/// The thread that makes it is worker 0, and the others are let in at once. The scheduler never frees a task of this
/// run: its owner may from `Ending::ended` on. Threads: the one that made it, but for `expect_end` and `has_ended`.
/// One run at a time on a scheduler.
class OpenRun {
 public:
  /// `describe`: names what waits, for the error that ends a run in which nothing moves; called by worker 0.
  ///
  /// Throws: `Error` when the network has failed, or an earlier run on this scheduler has.
  OpenRun(Scheduler& scheduler, std::function<std::string()> describe);
  OpenRun(const OpenRun&) = delete;
  OpenRun& operator=(const OpenRun&) = delete;
  OpenRun(OpenRun&&) = delete;
  OpenRun& operator=(OpenRun&&) = delete;
  /// Closes; if that has not been done, without waiting for tasks: the run then counts as failed.
  ~OpenRun();

  /// Takes over `node`, of whose `waits` one is this call's: runs it when none is left. `ending` and `label` are set.
  void submit(detail::Node& node);
  /// Runs `node`, which was submitted, and whose `waits` its owner has found to have come to 0 outside of `ended`.
  void ready(detail::Node& node) { scheduler_.start(node); }
  /// Counts `node`, with role `event`, which ends when `has_ended` says so. From any thread while the run is open.
  void expect_end(detail::Node& node) noexcept;
  /// `node`, which was expected, has ended: a worker will tell its owner. From any thread, once; it must be short.
  void has_ended(detail::Node& node) noexcept { scheduler_.note(node); }

  /// Works as worker 0 until `is_done()`, which this thread asks between tasks, or until the run has failed.
  void help_until(const std::function<bool()>& is_done) { scheduler_.help_until(is_done); }
  /// Whether all that was submitted or expected has ended. From any thread while the run is open.
  [[nodiscard]] bool is_quiet() const noexcept { return scheduler_.open_tasks() == 1; }
  /// Ends the run on all ranks.
  void fail(const Error& error) noexcept { scheduler_.fail(error); }
  [[nodiscard]] bool has_failed() const noexcept { return scheduler_.has_failed_.load(std::memory_order_acquire); }

  /// Works until all that was submitted or expected has ended, and lets the workers go.
  ///
  /// Throws: as `Scheduler::run`.
  void close();

 private:
  Scheduler& scheduler_;
  bool is_open_ = true;
};

}  // namespace plait::task
