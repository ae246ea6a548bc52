// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plait/base/error.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task {

/// A run to which tasks are added while it goes on. Flows, deferred tasks and phases of collections use one each.
///
/// All workers take part at once. The scheduler never frees a task of this run: its owner may, from `Ending::ended`
/// on. Several may be open on a scheduler, beside graphs. Threads: any; one at a time for those that wait.
class OpenRun : public Run {
 public:
  /// `describe` names what waits, for the error that ends a run in which nothing moves. Worker 0 calls it.
  ///
  /// Throws: `Error` when the network or an earlier run on this scheduler has failed.
  OpenRun(Scheduler& scheduler, std::function<std::string()> describe);
  OpenRun(const OpenRun&) = delete;
  OpenRun& operator=(const OpenRun&) = delete;
  /// As `close`, without an exception. If neither `close` nor `close_when` was called and tasks are left, all runs of
  /// the scheduler end with an error.
  ~OpenRun();

  /// Adds `node`, and runs it when its count `waits`, of which one is this call's, is 0. `ending` and `label` are set.
  void submit(detail::Node& node);
  /// Runs `node`, which was submitted, and whose `waits` its owner has found to be 0 outside of `Ending::ended`.
  void ready(detail::Node& node) noexcept;
  /// Adds `node`, with role `event`, which ends with `has_ended`. Expects: the run is not over.
  void expect_end(detail::Node& node) noexcept;
  /// The number of `node`, which was expected or submitted, in traces.
  [[nodiscard]] std::uint64_t id_of(const detail::Node& node) const noexcept;
  /// Ends `node`, which was expected: a worker reports it to its owner. Called once, from any thread.
  void has_ended(detail::Node& node) noexcept;

  /// Executes tasks of any run until `is_done()`, which is called between tasks, or until a run has failed.
  void help_until(const std::function<bool()>& is_done);
  /// Returns whether all tasks that were submitted or expected have ended.
  [[nodiscard]] bool is_quiet() const noexcept;
  /// Ends all runs on all ranks.
  void fail(const Error& error) noexcept;
  [[nodiscard]] bool has_failed() const noexcept;

  /// Closes the run, and executes tasks until it is over. Throws: as `Run::wait`.
  void close();
  /// Closes the run when `is_done()`, which a worker without tasks calls periodically; returns at once. From then on
  /// only tasks of the run add tasks. With one worker, `is_done` is called only while a thread waits. It must be short
  /// and not throw.
  void close_when(std::function<bool()> is_done);

 private:
  [[nodiscard]] detail::Runs& runs() const noexcept;
};

}  // namespace plait::task
