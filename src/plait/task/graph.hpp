// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/address.hpp"
#include "plait/task/body.hpp"
#include "plait/task/resource.hpp"

namespace plait::task {

namespace detail {
class Lifecycle;
class Runs;
struct Node;
struct Role;
}  // namespace detail

/// A task of a graph: a handle for building the graph and for choosing what is active. Valid while its graph lives.
///
/// Threads: the graph's.
class Task {
 public:
  Task() = default;
  explicit Task(detail::Node& node) : node_{&node} {}

  /// This task starts when `earlier` has ended, if both are active.
  Task& after(Task earlier);
  Task& before(Task later);
  /// While this task runs, no other task that locks `resource`, or what is above or below it, runs. Not for send
  /// and receive tasks.
  Task& locks(Resource& resource);
  /// While this task runs, no task that locks `resource`, or what is above or below it, runs; others that share it
  /// may. Not for send and receive tasks. Expects of both: the task claims nothing else that this one excludes.
  Task& shares(Resource& resource);
  /// What the task works on, for traces: any number.
  Task& object(std::uint64_t number);
  /// How long the task will take, to order tasks by until it has been measured.
  Task& cost(nanoseconds estimate);

  [[nodiscard]] detail::Node& node() const { return *node_; }
  friend bool operator==(const Task&, const Task&) = default;

 private:
  void claim(const Claim& claim);

  detail::Node* node_ = nullptr;
};

/// Tasks and what must come before what. Built once; each run activates all of it or a part.
///
/// Dependencies order, locks exclude. Send and receive tasks are posted when what they depend on has ended, and
/// end when the message's buffer is released; they never occupy a worker. Both ranks of a message must activate their
/// ends. A graph knows no runtime: `Scheduler::run` runs it. Threads: one at a time, and none while it runs.
class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// The kind called `name`, made at the first call.
  TaskKind kind(std::string_view name);

  Task task(std::string_view kind, Body body) { return task(this->kind(kind), std::move(body)); }
  Task task(TaskKind kind, Body body);
  /// A task without work: what is after it starts when all that is before it has ended. Costs no visit to a queue.
  Task join(std::string_view kind);

  /// Sends what `data()` names when the task is ready; it must stay unchanged until what is after this task starts.
  Task send(std::string_view kind, const comm::Address& to, std::function<std::span<const std::byte>()> data);
  /// Receives into `buffer`, of any length; what is after this task may read it. With `on_arrival`, the task ends when
  /// that has run, on a worker, after the message has come.
  Task receive(std::string_view kind, const comm::Address& from, Bytes& buffer, Body on_arrival = {});
  Task receive(std::string_view kind, const comm::Address& from, std::span<std::byte> buffer, Body on_arrival = {});

  [[nodiscard]] std::size_t task_count() const noexcept { return all_.size(); }
  [[nodiscard]] const std::vector<std::string>& kinds() const noexcept { return kinds_.names; }

  /// Lists the dependencies, finds an order in which the tasks can run, and refreshes the tasks' priorities: the
  /// longest way to the end, by measured cost (that of its kind, where a task has not been measured), where what leads
  /// to a send comes before what does not.
  ///
  /// Throws: `Error` with `bad_argument` that names the tasks of a cycle. Cost: O(tasks + dependencies) after a change;
  /// else one in 32 as many tasks are refreshed as are `active`, the next ones each time, so that a step stays cheap.
  void prepare(std::size_t active = std::numeric_limits<std::size_t>::max());
  /// All tasks.
  [[nodiscard]] std::span<const Task> all() const noexcept { return all_; }

 private:
  friend class Task;               // a new dependency makes the order out of date
  friend class detail::Runs;       // reports what was measured, notes that the trace has this graph
  friend class detail::Lifecycle;  // notes what `then` replaced

  struct Edge {
    detail::Node* earlier;
    detail::Node* later;
  };
  struct Chunk;
  /// By number of the kind.
  struct Kinds {
    std::vector<std::string> names;
    std::vector<float> cost_ns;  ///< Mean of what has been measured; 0: nothing yet.
    std::vector<float> step_ns;  ///< The same, rounded: what a short task of the kind counts for.
  };

  Task add(TaskKind kind, const detail::Role& role);
  void depend(detail::Node& earlier, detail::Node& later);
  Task add_receive(std::string_view kind, const comm::Address& from, Body on_arrival);
  Task add_message(std::string_view kind, const detail::Role& role, const comm::Address& address);
  void list_successors();
  void unlist_successors();
  void find_order();
  [[nodiscard]] std::string cycle() const;
  bool set_kind_steps();
  [[nodiscard]] float cost_of(detail::Node& node) const;
  void weigh(std::size_t count);
  [[nodiscard]] detail::Node& in_order(std::size_t place) const;

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Task> all_;
  Kinds kinds_;
  std::vector<Edge> new_edges_;            ///< Not in `successors_` yet.
  std::vector<detail::Node*> successors_;  ///< Of all tasks, one after the other.
  std::vector<detail::Node*> order_;       ///< Empty when the order of making will do.
  bool is_made_in_order_ = true;           ///< Each task came after all that it depends on.
  bool is_changed_ = true;
  std::atomic<bool> is_running_ = false;   ///< A run of it is not over.
  bool has_weights_ = false;               ///< There is something to weigh by.
  std::atomic<bool> has_gone_on_ = false;  ///< A task has called `TaskContext::then`: its node holds more than it did.
  std::uint32_t number_in_trace_ = 0;      ///< 0: the trace does not have it as it is now.
  std::size_t next_to_weigh_ = 0;          ///< Counted from the end of the order.
};

}  // namespace plait::task
