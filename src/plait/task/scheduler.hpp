// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "plait/base/backoff.hpp"
#include "plait/base/clock.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/run/run.hpp"
#include "plait/task/task_context.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task {

class OpenRun;

namespace detail {
struct SchedulerCore;
}

/// Settings of a scheduler.
struct SchedulerOptions {
  /// The number of computing threads, including the caller of `run`; at least 1.
  std::uint32_t worker_count = 1;
  /// How workers without tasks wait.
  WaitPolicy wait;
  /// The time after which a worker polls the network between two tasks.
  nanoseconds poll_interval = std::chrono::microseconds{20};
  /// The time without progress after which a run that a thread waits for ends with an error; 0: never. The error names
  /// what waits. Movement on the network counts as progress when no other run is open.
  nanoseconds stall_max = std::chrono::seconds{300};
  /// The folder where each rank then writes the graph of waiting tasks, plait-waiting-rank-NNNN.dot; empty: none.
  std::filesystem::path stall_folder = ".";
};

/// The time of one worker since the last reset.
struct WorkerTimes {
  nanoseconds busy{};   ///< In tasks and between successive ones.
  nanoseconds total{};  ///< In runs.
  std::uint64_t tasks = 0;
};

/// Runs graphs on a fixed set of workers, several at once, and makes progress on messages meanwhile.
///
/// Worker 0 is a thread that waits for a run. A worker takes tasks from its own queue, then from others; without tasks
/// it polls the network, then sleeps. Tasks of all runs share the workers by priority. An exception of a task ends all
/// runs on every rank, and each wait throws it. At most 64 runs are open at once. Threads: any may start and wait; of
/// those that wait, one is worker 0 and the others sleep.
class Scheduler {
 public:
  Scheduler(comm::Endpoint& endpoint, trace::Recorder& recorder, SchedulerOptions options);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  /// Waits until the workers' threads have ended. Expects: no run is open.
  ~Scheduler();

  /// Starts the tasks of `active`, all of one graph, and returns at once. The run is over when these and all tasks that
  /// they have spawned have ended. The graph must live and not change until then.
  ///
  /// With one worker, tasks are executed only while a thread waits for a run or tests one. Throws: `Error` with
  /// `bad_argument` when the graph runs already or has a cycle; the error of an earlier run. Cost: proportional to the
  /// active tasks and their dependencies.
  [[nodiscard]] Run start(Graph& graph, std::span<const Task> active);
  [[nodiscard]] Run start(Graph& graph) { return start(graph, graph.all()); }

  /// Starts a graph, and executes tasks until its run is over.
  ///
  /// Throws: as `start` and `Run::wait`. After an error, buffers of its messages must live until the endpoint is
  /// destroyed.
  void run(Graph& graph, std::span<const Task> active);
  void run(Graph& graph) { run(graph, graph.all()); }

  [[nodiscard]] std::uint32_t worker_count() const noexcept;
  /// Returns one entry for each worker. While a run is open, times may be out of date and its tasks are not counted.
  [[nodiscard]] std::vector<WorkerTimes> worker_times();
  void reset_worker_times();

 private:
  friend class OpenRun;

  std::unique_ptr<detail::SchedulerCore> core_;
};

/// Has a network, workers and a trace: a `plait::Runtime`.
template <class R>
concept RuntimeLike = requires(R& runtime) {
  { runtime.messages() } -> std::same_as<comm::Endpoint&>;
  { runtime.scheduler() } -> std::same_as<Scheduler&>;
  { runtime.trace() } -> std::same_as<trace::Recorder&>;
};

}  // namespace plait::task
