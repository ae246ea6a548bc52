// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "plait/comm/request.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/run/detail/lifecycle.hpp"
#include "plait/task/run/detail/scheduler_state.hpp"
#include "plait/task/run/detail/seat.hpp"
#include "plait/task/run/detail/watch.hpp"
#include "plait/task/run/detail/work_loop.hpp"

namespace plait::task::detail {

/// Opens, starts, closes, awaits and finishes the runs of a scheduler, for `Run` and `OpenRun`.
///
/// Threads: any. A thread takes the seat while it must be worker 0.
class Runs {
 public:
  Runs(SchedulerState& state, Queues& queues, Lifecycle& lifecycle) noexcept
      : state_{state},
        lifecycle_{lifecycle},
        seat_{state.executor},
        loop_{state, queues, lifecycle, seat_, *this},
        watch_{state} {}

  // ---- graphs ----
  /// Starts the tasks of `active` in a closed run of their own.
  [[nodiscard]] std::shared_ptr<RunState> start(Graph& graph, std::span<const Task> active);
  /// As `start` and `wait`. Wakes the other workers only when there are enough tasks for them.
  void run(Graph& graph, std::span<const Task> active);

  // ---- open runs ----
  /// Opens a run, which is not over before it is closed. The run of a graph is closed when it has started.
  [[nodiscard]] std::shared_ptr<RunState> open(Graph* graph, std::function<std::string()> describe);
  /// Closes a run to tasks from outside: it is over when its tasks have ended.
  void close(RunState& run) noexcept;
  /// Closes the run when `is_done()`, which a worker without tasks calls.
  void close_when(RunState& run, std::function<bool()> is_done);
  /// Adds a task of no graph to `run`.
  void count_in(RunState& run, Node& node) noexcept;
  /// Makes a task of no graph ready. A thread that cannot be worker 0 leaves it to the next worker.
  void make_ready(Node& node) noexcept;

  // ---- threads that wait ----
  /// Waits for the run. Throws: the error that has ended it, after all workers have left.
  void wait(RunState& run);
  /// Executes a few tasks. Throws: as `wait`.
  [[nodiscard]] bool test(RunState& run);
  /// Executes tasks until `until()`, or until a run has failed. Sleeps while another thread is worker 0.
  void help(RunState& run, Until until);
  [[nodiscard]] comm::Request request(RunState& run);
  void fail(const Error& error) noexcept { state_.failure.fail(error); }
  void note(Node& node) noexcept { state_.note(node); }
  [[nodiscard]] bool has_failed() const noexcept { return state_.failure.has_failed(); }

  // ---- workers ----
  [[nodiscard]] WorkLoop& loop() noexcept { return loop_; }
  /// Finishes runs that are over. One thread at a time: a second one leaves it to the first.
  void settle() noexcept;
  enum class Watching : std::uint8_t { now, if_due };
  /// Fails if a run is stuck (`Watch`). Only worker 0 checks.
  void watch(const Worker& worker, Watching when);

 private:
  class Seated;

  void throw_if_in_task() const;
  [[nodiscard]] std::shared_ptr<RunState> launch(Graph& graph, std::span<const Task> active);
  void finish(RunState& run) noexcept;
  void count_lone(RunState& run) noexcept;
  [[noreturn]] void throw_failure(RunState& run);
  static void teach(const RunState& run) noexcept;
  void record_start(Graph& graph, const RunState& run, std::size_t active_count);

  SchedulerState& state_;
  Lifecycle& lifecycle_;
  Seat seat_;
  WorkLoop loop_;
  Watch watch_;
  std::uint32_t step_count_ = 0;  ///< Of worker 0, as are the next two.
  std::uint32_t graphs_in_trace_ = 0;
  std::shared_ptr<RunState> spare_;           ///< Of the last graph's run.
  std::atomic<std::uint32_t> lone_runs_ = 0;  ///< Not over, and need no thread beside the workers.
  std::atomic<bool> is_settling_ = false;     ///< A thread asks which runs are over, or watches.
};

}  // namespace plait::task::detail
