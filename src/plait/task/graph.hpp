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
#include "plait/comm/layout.hpp"
#include "plait/task/body.hpp"
#include "plait/task/resource.hpp"

namespace plait::task {

namespace detail {
class Lifecycle;
class Runs;
struct Node;
struct Role;
}  // namespace detail

/// A handle to a task of a graph, to build the graph and to select the active tasks. Valid while its graph lives.
///
/// Threads: the graph's.
class Task {
 public:
  Task() = default;
  explicit Task(detail::Node& node) : node_{&node} {}

  /// Starts this task after `earlier` has ended, if both are active.
  Task& after(Task earlier);
  Task& before(Task later) {
    later.after(*this);
    return *this;
  }
  /// Locks `resource`, with all above and below it, while this task runs. Not for send and receive tasks. Expects: no
  /// other claim of the task excludes this one.
  Task& locks(Resource& resource) { return claim({&resource, Access::exclusive}); }
  /// Shares `resource` while this task runs: excludes tasks that lock it, or a resource above or below it. As above.
  Task& shares(Resource& resource) { return claim({&resource, Access::shared}); }
  /// Sets the number that traces show as the task's object.
  Task& object(std::uint64_t number);
  /// Sets the expected duration, which orders tasks until the task has been measured.
  Task& cost(nanoseconds estimate);

  [[nodiscard]] detail::Node& node() const { return *node_; }
  friend bool operator==(const Task&, const Task&) = default;

 private:
  Task& claim(const Claim& claim);

  detail::Node* node_ = nullptr;
};

/// Tasks and their dependencies. A graph is built once; each run activates all of it or a part.
///
/// Send and receive tasks are posted when their predecessors have ended, and end when the message's buffer is released.
/// They never occupy a worker. Both ranks of a message must activate their ends. `Scheduler::run` runs a graph.
/// Threads: one at a time, and none while it runs.
class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// Returns the kind called `name`, which is created at the first call.
  TaskKind kind(std::string_view name);

  /// Adds a task that a worker executes.
  Task task(std::string_view kind, Body body) { return task(this->kind(kind), std::move(body)); }
  Task task(TaskKind kind, Body body);
  /// Adds a task without a body, which joins its predecessors. It passes through no queue.
  Task join(std::string_view kind);

  /// Adds a task that sends `data()`, called when it is ready. The data must not change until its successors start.
  Task send(std::string_view kind, const comm::Address& to, std::function<std::span<const std::byte>()> data);
  /// As above, for non-contiguous data. Idle workers help to pack it if it is large (`EndpointOptions::copiers_max`).
  /// Such a send never joins others in a multicast.
  Task send(std::string_view kind, const comm::Address& to, std::function<comm::Layout()> data);
  /// Adds a task that receives into `buffer`, resized to the message. Successors may read it. `on_arrival`, if given,
  /// runs on a worker after the message has arrived, and the task ends after it.
  Task receive(std::string_view kind, const comm::Address& from, Bytes& buffer, Body on_arrival = {});
  Task receive(std::string_view kind, const comm::Address& from, std::span<std::byte> buffer, Body on_arrival = {});
  /// As above, into non-contiguous memory. Idle workers help to unpack a large message. Cost: a copy of the layout for
  /// each run.
  Task receive(std::string_view kind, const comm::Address& from, comm::Layout buffer, Body on_arrival = Body());

  [[nodiscard]] std::size_t task_count() const noexcept { return all_.size(); }
  [[nodiscard]] const std::vector<std::string>& kinds() const noexcept { return kinds_.names; }

  /// Finds an order of the tasks, and refreshes their priorities: the longest weighted path to the end, by measured
  /// cost. Tasks that lead to a send precede all others. A task that was not measured has the cost of its kind.
  ///
  /// Throws: `Error` with `bad_argument` that names the tasks of a cycle. Cost: O(tasks + dependencies) after a change;
  /// otherwise one priority is refreshed for 32 `active` tasks.
  void prepare(std::size_t active = std::numeric_limits<std::size_t>::max());
  /// Returns all tasks.
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
  /// By kind.
  struct Kinds {
    std::vector<std::string> names;
    std::vector<float> cost_ns;  ///< Mean of measurements; 0: none yet.
    std::vector<float> step_ns;  ///< The same, rounded: the weight of a short task of the kind.
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
  std::vector<detail::Node*> order_;       ///< Empty when the order of creation is valid.
  bool is_made_in_order_ = true;           ///< Each task was created after its predecessors.
  bool is_changed_ = true;
  std::atomic<bool> is_running_ = false;   ///< A run of it is not over.
  bool has_weights_ = false;               ///< Costs or sends are known.
  std::atomic<bool> has_gone_on_ = false;  ///< A task has called `TaskContext::then`: its node may own a body.
  std::uint32_t number_in_trace_ = 0;      ///< 0: the trace does not have it as it is now.
  std::size_t next_to_weigh_ = 0;          ///< Counted from the end of the order.
};

}  // namespace plait::task
