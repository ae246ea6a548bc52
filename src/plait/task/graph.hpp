// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/resource.hpp"

namespace plait::task {

namespace detail {
struct Node;
class GraphRecord;
}  // namespace detail

class TaskContext;

/// A kind of task: tasks of one kind have one name, and one colour in pictures.
using TaskKind = Id<struct TaskKindTag, std::uint16_t>;
using Body = std::function<void(TaskContext&)>;

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
  /// While this task runs, no other task that locks `resource`, or what stands above or below it, runs. Not for send
  /// and receive tasks.
  Task& locks(Resource& resource);
  /// While this task runs, no task that locks `resource`, or what stands above or below it, runs; others that share it
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
/// end when the message is complete; they never occupy a worker. Both ranks of a message must activate their ends.
/// A graph knows no runtime: `Scheduler::run` runs it. Threads: one at a time, and none while it runs.
class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  Graph(Graph&&) = delete;
  Graph& operator=(Graph&&) = delete;
  ~Graph();

  /// The kind called `name`, made at the first call.
  TaskKind kind(std::string_view name);

  Task task(std::string_view kind, Body body);
  template <std::invocable<> Simple>
    requires(!std::invocable<Simple, TaskContext&>)
  Task task(std::string_view kind, Simple body) {
    return task(kind, Body{[body = std::move(body)](TaskContext&) mutable { body(); }});
  }
  /// A task without work: what is after it starts when all that is before it has ended. Costs no visit to a queue.
  Task join(std::string_view kind);

  /// Sends what `data()` names when the task is ready; it must stay unchanged until what is after this task starts.
  Task send(std::string_view kind, const comm::Address& to, std::function<std::span<const std::byte>()> data);
  /// Receives into `buffer`, of any length; what is after this task may read it.
  Task receive(std::string_view kind, const comm::Address& from, Bytes& buffer);
  Task receive(std::string_view kind, const comm::Address& from, std::span<std::byte> buffer);

  [[nodiscard]] std::size_t task_count() const noexcept { return nodes_.size(); }
  [[nodiscard]] const std::vector<std::string>& kinds() const noexcept { return kinds_; }

  /// Finds an order in which the tasks can run, and refreshes their priorities: the longest way to the end, by
  /// measured cost, where what leads to a send comes before what does not.
  ///
  /// Throws: `Error` with `bad_argument` that names the tasks of a cycle. Cost: O(tasks + dependencies), nothing when
  /// it is not due.
  void prepare();
  /// All tasks.
  [[nodiscard]] std::span<const Task> all() const noexcept { return all_; }

 private:
  friend class Task;                 // a new dependency makes the order out of date
  friend class detail::GraphRecord;  // notes here that the trace has this graph

  Task add(std::string_view kind);
  void find_order();
  [[nodiscard]] std::string cycle() const;
  void weigh();

  std::vector<std::unique_ptr<detail::Node>> nodes_;
  std::vector<Task> all_;
  std::vector<std::string> kinds_;
  std::vector<detail::Node*> order_;
  std::uint32_t runs_until_weighing_ = 0;
  bool is_changed_ = true;
  std::uint32_t number_in_trace_ = 0;  ///< 0: the trace does not have it as it is now.
};

}  // namespace plait::task
