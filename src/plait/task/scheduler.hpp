// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "plait/base/backoff.hpp"
#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/detail/graph_record.hpp"
#include "plait/task/detail/node_stack.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/spawn.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task {

class OpenRun;

namespace detail {
struct Worker;
}

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
  /// Where each rank then writes what waits for what, as a graph: plait-waiting-rank-NNNN.dot. Empty: nowhere.
  std::filesystem::path stall_folder = ".";
};

/// Where one worker's time went since the last reset.
struct WorkerTimes {
  nanoseconds busy{};   ///< In tasks, and from one to the next when there was one.
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
  friend struct detail::NodeMessage;
  using Node = detail::Node;
  using Worker = detail::Worker;

  struct Sink;

  // A run.
  void begin(Graph* graph);
  void activate(std::span<const Task> active);
  void let_workers_in();
  void end();
  void teach(Graph& graph);
  void serve(Worker& worker);
  void work(Worker& worker);
  template <class IsDone>
  void work_until(Worker& worker, IsDone is_done);
  [[nodiscard]] bool is_over(bool looks_closely) noexcept;
  [[nodiscard]] std::uint64_t open_tasks() const noexcept;

  // An open run; see open_run.hpp.
  void open(std::function<std::string()> describe);
  void close();
  void count_in(Node& node) noexcept;
  void start(Node& node);
  void help_until(const std::function<bool()>& is_done);

  // A task.
  [[nodiscard]] const std::string& name_of(const Node& node) const;
  [[nodiscard]] trace::NameId trace_name_of(const Node& node) const;
  [[nodiscard]] Node* next_task(Worker& worker);
  static void prefetch(const Worker& worker) noexcept;
  [[nodiscard]] Node* steal(Worker& worker);
  static void suppose_cost(const Worker& worker, Node& node) noexcept;
  [[nodiscard]] bool must_measure(Worker& worker, Node& node) const noexcept;
  void execute(Worker& worker, Node& node);
  void learn(Worker& worker, Node& node, nanoseconds took) const noexcept;
  void record(Worker& worker, const Node& node, nanoseconds start);
  void fail_with_current_exception(const Node& node) noexcept;
  void finish(Worker& worker, Node& first);
  Node* count_off(Worker& worker, Node& node);
  void release_successors(Worker& worker, Node& node);
  void give_back(Worker& worker, detail::SpawnedNode& node) noexcept;
  void make_ready(Worker& worker, Node& node);
  void offer(Worker& worker, Node& node);
  void spawn(Worker& worker, Node& parent, Spawn&& wish);
  [[nodiscard]] static detail::SpawnedNode& make_spawned(Worker& worker, Node& parent, TaskKind kind);
  void count_spawned(Worker& worker, Node& parent, detail::SpawnedNode& node);
  detail::SpawnedNode& spawn_message(Worker& worker, Node& parent, TaskKind kind, const comm::Address& address);
  void spawn_send(Worker& worker, Node& parent, TaskKind kind, const Outgoing& outgoing);
  void spawn_receive(Worker& worker, Node& parent, TaskKind kind, Incoming incoming);
  void spawn_wait(Worker& worker, Node& parent, TaskKind kind, comm::Request request, Body body);
  [[nodiscard]] std::uint64_t id_of(const Node& node) const noexcept { return first_id_ + node.number; }

  // Messages.
  void post_receive(Worker& worker, Node& node);
  void post_sends(Worker& worker);
  void post_send(std::span<detail::NodeMessage* const> same);
  void finish_noted(Worker& worker);
  void see_message(Worker& worker, const Node& node);
  void note(Node& node) noexcept;

  // Waiting, trouble.
  void begin_to_work(Worker& worker);
  void poll(Worker& worker);
  void idle(Worker& worker, Backoff& backoff);
  void wake_one() noexcept;
  void fail(const Error& error) noexcept;
  void check_stall(Worker& worker);

  comm::Endpoint& endpoint_;
  trace::Recorder& recorder_;
  const SchedulerOptions options_;
  Crowding crowding_;
  std::vector<std::unique_ptr<Worker>> workers_;

  // The present run. Written by `run` before the workers are let in.
  Graph* graph_ = nullptr;                 ///< Nothing in an open run.
  std::function<std::string()> describe_;  ///< Of an open run: what waits.
  std::span<const Task> active_;
  bool are_all_active_ = false;
  std::vector<trace::NameId> names_;  ///< By kind; empty when nothing is recorded.
  detail::GraphRecord graph_record_;
  std::uint32_t epoch_ = 0;
  std::uint64_t first_id_ = 1;                  ///< Of this run's tasks in the trace.
  std::atomic<std::uint32_t> next_number_ = 0;  ///< Of spawned tasks, when they are recorded.
  std::atomic<bool> has_failed_ = false;
  std::atomic<bool> is_over_ = false;            ///< Somebody has seen that all tasks have ended.
  detail::NodeStack noted_;                      ///< Whose messages are complete: a stack that any thread adds to.
  std::atomic<std::uint64_t> made_outside_ = 0;  ///< Tasks that were counted in by threads that may be no workers.

  std::mutex mutex_;
  std::condition_variable wake_;  ///< For workers, in a run or between two.
  std::condition_variable left_;  ///< For `run`.
  std::atomic<std::uint32_t> sleeping_ = 0;
  std::atomic<bool> is_waking_ = false;  ///< A worker was woken and has not looked around yet.
  std::uint64_t generation_ = 0;         ///< Counts runs; under the mutex.
  bool is_open_ = false;                 ///< Workers may join the present run; under the mutex, as is the next.
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
  /// How many workers sleep for want of work. A hint, out of date when it returns; those that still look are missing.
  [[nodiscard]] std::uint32_t idle_workers() const noexcept {
    return scheduler_.sleeping_.load(std::memory_order_relaxed);  // orders nothing
  }

  /// Adds a task to this run, ready at once. What is after the running task waits for the new one, too.
  void spawn(Spawn wish) { scheduler_.spawn(worker_, node_, std::move(wish)); }
  void spawn(TaskKind kind, Body body) { spawn(Spawn{.kind = kind, .body = std::move(body)}); }

  /// Sends and receives as tasks of this run that nobody knew of before: what is after the running task waits for them,
  /// too. They occupy no worker. Both ranks of a message must come to the same conclusion that there is one.
  void send(TaskKind kind, const Outgoing& message) { scheduler_.spawn_send(worker_, node_, kind, message); }
  void receive(TaskKind kind, Incoming message) { scheduler_.spawn_receive(worker_, node_, kind, std::move(message)); }

  /// A task of this run that ends with `operation`, a collective or any other, and with `body`, if there is one, which
  /// runs on a worker when it is complete.
  void wait_for(TaskKind kind, comm::Request operation, Body body = {}) {
    scheduler_.spawn_wait(worker_, node_, kind, std::move(operation), std::move(body));
  }

  /// When this body and all that the task has spawned have ended, `body` runs as the rest of this task, with the same
  /// locks, on any worker; it may spawn and go on itself. A second call replaces the first.
  void then(Body body);

 private:
  Scheduler& scheduler_;
  detail::Worker& worker_;
  detail::Node& node_;
};

}  // namespace plait::task
