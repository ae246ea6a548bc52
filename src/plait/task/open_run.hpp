// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "plait/base/error.hpp"
#include "plait/comm/request.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task {

namespace detail {
class Runs;
struct Node;
struct RunState;
}  // namespace detail

/// A run whose tasks come while it goes on: what flows, deferred tasks and phases of collections are made of.
///
/// The other workers are let in at once. The scheduler never frees a task of this run: its owner may from
/// `Ending::ended` on. Several may be open on a scheduler, beside graphs. Threads: any; one at a time for those that
/// wait. Waits are refused with `bad_argument` in tasks and callbacks.
class OpenRun {
 public:
  /// `describe`: names what waits, for the error that ends a run in which nothing moves; called by worker 0.
  ///
  /// Throws: `Error` when the network has failed, or an earlier run on this scheduler has.
  OpenRun(Scheduler& scheduler, std::function<std::string()> describe);
  OpenRun(const OpenRun&) = delete;
  OpenRun& operator=(const OpenRun&) = delete;
  /// As `close`, without an exception. When neither `close` nor `close_when` has been called and tasks are left, the
  /// scheduler's runs end with an error.
  ~OpenRun();

  /// Takes over `node`, of whose `waits` one is this call's: runs it when none is left. `ending` and `label` are set.
  void submit(detail::Node& node);
  /// Runs `node`, which was submitted, and whose `waits` its owner has found to have come to 0 outside of `ended`.
  void ready(detail::Node& node) noexcept;
  /// Counts `node`, with role `event`, which ends with `has_ended`. While the run is not over.
  void expect_end(detail::Node& node) noexcept;
  /// `node`, which was expected, has ended: a worker will report it to its owner. Once; it must be short.
  void has_ended(detail::Node& node) noexcept;

  /// Executes tasks of any run until `is_done()`, which this thread asks between tasks, or until a run has failed.
  void help_until(const std::function<bool()>& is_done);
  /// As `help_until` for a few tasks, or one poll of the network. True when the run is over. Throws: as `close`.
  [[nodiscard]] bool test();
  /// Whether all that was submitted or expected has ended.
  [[nodiscard]] bool is_quiet() const noexcept;
  /// Whether the run is closed, and all that was submitted or expected has ended.
  [[nodiscard]] bool is_over() const noexcept;
  /// Ends all runs on all ranks.
  void fail(const Error& error) noexcept;
  [[nodiscard]] bool has_failed() const noexcept;

  /// Executes tasks until all that was submitted or expected has ended. The last call but for `is_over` and `request`.
  ///
  /// Throws: as `Run::wait`.
  void close();
  /// Returns at once; the run closes by itself when `is_done()`, which a worker without tasks asks periodically, one at
  /// a time. Then nothing is submitted or expected any more but by tasks of the run. Without a worker beside worker 0,
  /// that is while a thread waits. `is_done` must be short, and throw nothing.
  void close_when(std::function<bool()> is_done);
  /// As `close_when` with a condition that is met: what has been submitted, and what its tasks add, is all.
  void close_later();
  /// Executes tasks of any run until this one, which closes by itself, is over. Throws: as `Run::wait`.
  void wait();
  /// Completes when the run is over, see `Run::request`.
  [[nodiscard]] comm::Request request();

 private:
  detail::Runs& runs_;
  std::shared_ptr<detail::RunState> state_;
};

}  // namespace plait::task
