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

/// How a scheduler behaves.
struct SchedulerOptions {
  /// Computing threads, the caller of `run` included; at least 1.
  std::uint32_t worker_count = 1;
  /// How workers without work wait.
  WaitPolicy wait;
  /// A worker polls the network between two tasks when it has not for so long.
  nanoseconds poll_interval = std::chrono::microseconds{20};
  /// A run that a thread waits for, and in which nothing has moved for so long, ends with an error that names what
  /// waits; 0 = waits for ever. Movement on the network counts when it is the only run.
  nanoseconds stall_max = std::chrono::seconds{300};
  /// Where each rank then writes what waits for what, as a graph: plait-waiting-rank-NNNN.dot. Empty: nowhere.
  std::filesystem::path stall_folder = ".";
};

/// Where one worker's time went since the last reset.
struct WorkerTimes {
  nanoseconds busy{};   ///< In tasks, and from one to the next when there was one.
  nanoseconds total{};  ///< In runs.
  std::uint64_t tasks = 0;
};

/// Runs graphs on a fixed set of workers, several at once, and moves messages while it does.
///
/// Worker 0 is a thread that waits for a run. A worker takes from its own queue, then from others, then makes progress
/// on the network, then sleeps. Tasks of all runs share the workers by priority. A task's exception ends all runs on
/// every rank, and each wait throws it. At most 64 runs are open at once. Threads: any may start and wait; while
/// several wait, one is worker 0 and the others sleep.
class Scheduler {
 public:
  Scheduler(comm::Endpoint& endpoint, trace::Recorder& recorder, SchedulerOptions options);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  /// Waits until the workers' threads have ended. No run is open.
  ~Scheduler();

  /// Starts the tasks of `active`, all of one graph, and returns at once. The run is over when they and all that they
  /// have spawned have ended; the graph must live and not change until then.
  ///
  /// With one worker, tasks are executed while a thread waits for a run or tests one; with more, at once.
  /// Throws: `Error` with `bad_argument` when the graph runs already or has a cycle; what has ended an earlier run.
  /// Cost besides the tasks': proportional to the active tasks and their dependencies.
  [[nodiscard]] Run start(Graph& graph, std::span<const Task> active);
  [[nodiscard]] Run start(Graph& graph) { return start(graph, graph.all()); }

  /// Starts a graph, and executes tasks until its run is over.
  ///
  /// Throws: as `start` and `Run::wait`. After an error, buffers of the graph's messages must stay until the endpoint
  /// is destroyed.
  void run(Graph& graph, std::span<const Task> active);
  void run(Graph& graph) { run(graph, graph.all()); }

  [[nodiscard]] std::uint32_t worker_count() const noexcept;
  /// One entry a worker. While a run is open, it may be out of date, and counts tasks of earlier runs only.
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
