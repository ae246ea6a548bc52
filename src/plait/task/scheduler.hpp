// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "plait/base/backoff.hpp"
#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/detail/graph_record.hpp"
#include "plait/task/graph.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task {

class OpenRun;

namespace detail {
class WorkerSink;
struct Worker;
}  // namespace detail

/// How a scheduler behaves.
struct SchedulerOptions {
  /// Computing threads, the caller of `run` included; at least 1.
  std::uint32_t worker_count = 1;
  /// How workers without work wait.
  WaitPolicy wait;
  /// A worker looks at the network between two tasks when it has not for so long.
  nanoseconds poll_interval = std::chrono::microseconds{20};
  /// A run in which nothing has moved for so long ends with an error that names what waits; 0 = waits for ever.
  nanoseconds stall_max = std::chrono::seconds{300};
};

/// What a new task is made of, when a running task spawns it.
struct Spawn {
  TaskKind kind;
  Body body;
  std::uint64_t object = 0;
  nanoseconds cost{};            ///< To order it by, as nothing is measured yet.
  std::vector<Claim> resources;  ///< As `Task::locks`, or as `Task::shares`: `{&cell, Access::shared}`.
};

/// Where one worker's time went since the last reset.
struct WorkerTimes {
  nanoseconds busy{};   ///< In tasks' bodies.
  nanoseconds total{};  ///< In runs.
  std::uint64_t tasks = 0;
};

/// Runs graphs on a fixed set of workers, and moves messages while it does.
///
/// Worker 0 is the thread that calls `run`. A worker takes from its own queue, then from others, then makes progress on
/// the network, then sleeps. A task's exception ends the run on every rank, and `run` throws it. Threads: `run` from
/// one at a time.
class Scheduler {
 public:
  Scheduler(comm::Endpoint& endpoint, trace::Recorder& recorder, SchedulerOptions options);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  Scheduler(Scheduler&&) = delete;
  Scheduler& operator=(Scheduler&&) = delete;
  /// Waits until the workers have gone.
  ~Scheduler();

  /// Runs the tasks of `active`, all of one graph, and returns when they and all that they spawned have ended.
  ///
  /// Cost besides the tasks': proportional to the active tasks and their dependencies.
  /// Throws: the first `Error` of a task on any rank (what a task threw that is no `Error` comes as `user_task`), or of
  /// the network, or `timeout` when nothing moves. Buffers of the graph's messages must then stay until the endpoint
  /// has gone.
  void run(Graph& graph, std::span<const Task> active);
  void run(Graph& graph) { run(graph, graph.all()); }

  [[nodiscard]] std::uint32_t worker_count() const noexcept { return options_.worker_count; }
  /// One entry a worker. Not while running.
  [[nodiscard]] std::vector<WorkerTimes> worker_times() const;
  void reset_worker_times();

 private:
  friend class TaskContext;
  friend class OpenRun;
  friend class detail::WorkerSink;
  friend struct detail::Node;
  using Node = detail::Node;
  using Worker = detail::Worker;

  // An open run; see open_run.hpp.
  void open(std::function<std::string()> describe);
  void close();
  void count_in(Node& node) noexcept;
  void start(Node& node);

  void activate(std::span<const Task> active);
  void let_in();
  void see_off();
  void serve(Worker& worker);
  void work(Worker& worker);
  void look(Worker& worker, Backoff& backoff);
  void help_until(const std::function<bool()>& is_done);
  [[nodiscard]] const std::string& name_of(const Node& node) const;
  [[nodiscard]] trace::NameId trace_name_of(const Node& node) const;
  [[nodiscard]] Node* find_task(Worker& worker);
  void execute(Worker& worker, Node& node);
  void make_ready(Worker& worker, Node& node);
  void post_receive(Worker& worker, Node& node);
  void post_sends(Worker& worker);
  void post_send(std::span<Node* const> same);
  void finish(Worker& worker, Node& node);
  void finish_noted(Worker& worker);
  void count_off(Node* parent, Worker& worker);
  void note(Node& node) noexcept;
  void spawn(Worker& worker, Node& parent, Spawn&& wish);
  void fail(const Error& error) noexcept;
  void idle(Worker& worker, Backoff& backoff);
  void wake_one();
  void check_stall(Worker& worker);
  [[nodiscard]] std::string describe_waiting() const;
  [[nodiscard]] bool is_over() const noexcept;

  comm::Endpoint& endpoint_;
  trace::Recorder& recorder_;
  const SchedulerOptions options_;
  Crowding crowding_;
  std::vector<std::unique_ptr<Worker>> workers_;

  // The present run. Written by `run` before the workers are let in.
  Graph* graph_ = nullptr;                 ///< Nothing in an open run.
  std::function<std::string()> describe_;  ///< Of an open run: what waits.
  std::span<const Task> active_;
  std::vector<trace::NameId> names_;  ///< By kind.
  detail::GraphRecord graph_record_;
  std::uint32_t epoch_ = 0;
  std::atomic<std::uint64_t> next_id_ = 1;
  std::atomic<std::size_t> remaining_ = 0;
  std::atomic<std::uint32_t> executing_ = 0;
  std::atomic<bool> has_failed_ = false;
  std::atomic<Node*> noted_ = nullptr;  ///< Whose messages are complete: a stack that any thread adds to.

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint32_t> sleeping_ = 0;
  std::uint64_t generation_ = 0;  ///< Counts runs; under the mutex.
  bool is_open_ = false;          ///< Workers may join the present run; under the mutex, as is the next.
  std::uint32_t workers_inside_ = 0;
  bool is_ending_ = false;
  std::optional<Error> failure_;

  std::vector<std::jthread> threads_;  // last: gone before what they use
};

/// What a running task knows of where it runs, and the way to make more tasks.
class TaskContext {
 public:
  TaskContext(Scheduler& scheduler, detail::Worker& worker, detail::Node& node)
      : scheduler_{scheduler}, worker_{worker}, node_{node} {}

  [[nodiscard]] WorkerId worker() const noexcept;

  /// Adds a task to this run, ready at once. What is after the running task waits for the new one, too.
  void spawn(Spawn wish) { scheduler_.spawn(worker_, node_, std::move(wish)); }

 private:
  Scheduler& scheduler_;
  detail::Worker& worker_;
  detail::Node& node_;
};

}  // namespace plait::task
