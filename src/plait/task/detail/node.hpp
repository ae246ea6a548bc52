// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/layout.hpp"
#include "plait/task/body.hpp"
#include "plait/task/detail/role.hpp"
#include "plait/task/resource.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task {
class Graph;
}  // namespace plait::task

namespace plait::task::detail {

struct Label;
struct Node;
struct SchedulerState;

/// The value of `Node::waits` when the task is ready.
inline constexpr std::uint32_t is_ready = 0xffffffff;

/// The source of a task's cost: the mean of its kind, an estimate of the user, or its own earlier runs.
enum class CostSource : std::uint8_t { kind, estimate, measured };

/// The cost below which only some executions are measured, as reading the clock takes as long as the shortest tasks.
inline constexpr float short_ns = 2'000;

/// The message of a send or receive task.
struct NodeMessage final : comm::Completion {
  explicit NodeMessage(Node& its_node) : node{its_node} {}
  void completed(const comm::Status& its_status) noexcept override { status = its_status; }
  /// Notes, for a worker, that the buffer of the message is free for the successors.
  void released(const comm::Status& its_status) noexcept override;

  Node& node;
  comm::Address address;
  std::function<std::span<const std::byte>()> data;
  std::function<comm::Layout()> layout;  ///< Of non-contiguous data to send, or of such a buffer; else empty.
  Bytes* growing = nullptr;
  std::span<std::byte> buffer;

  // This run.
  std::span<const std::byte> outgoing;  ///< What `data` has answered.
  nanoseconds posted{};
  comm::Status status;
  SchedulerState* scheduler = nullptr;
};

/// Takes the tasks that the owner of an ended task makes ready. Valid during the call, for its worker.
class ReadySink {
 public:
  /// Makes `node`, counted already, ready.
  virtual void ready(Node& node) = 0;
  /// As `ready`, and counts it: for a task that runs again.
  virtual void again(Node& node) = 0;

 protected:
  ~ReadySink() = default;
};

/// The owner of tasks of no graph, which stores their successors and their memory.
class Ending {
 public:
  /// Notifies that `node` has ended. Its locks are free, and the scheduler does not access it again. Called once for
  /// each execution, by the worker that ended it.
  virtual void ended(Node& node, ReadySink& sink) noexcept = 0;

 protected:
  ~Ending() = default;
};

/// A task: its description, its measured cost, and its state in the current run. A run writes only the first cache line
/// of every task; the third is for traces, messages and tasks of no graph.
struct alignas(64) Node {
  explicit Node(TaskKind its_kind) noexcept : kind{its_kind} {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() = default;

  /// The label of a task of no graph, if it has one.
  [[nodiscard]] const Label* its_label() const noexcept { return is_of_graph ? nullptr : label; }
  /// The number in its graph from 1, as in traces; 0: in none.
  [[nodiscard]] std::uint32_t place() const noexcept { return is_of_graph ? number + 1 : 0; }
  /// The order of ready tasks: the longest path to the end, after tasks that lead to a send. The factor is above all
  /// times (36 years), and a power of two, which loses no digits.
  [[nodiscard]] float urgency() const noexcept { return leads_to_send ? (weight_ns + 1) * 0x1p60F : weight_ns; }

  std::atomic<std::uint32_t> waits = 0;       ///< What must still end before it is ready.
  std::atomic<std::uint32_t> unfinished = 0;  ///< Itself, and the tasks that it has spawned.
  std::uint32_t epoch = 0;                    ///< Of the last run in which it was active; leads to it, see `RunTable`.
  std::uint32_t earlier_count = 0;            ///< What comes before it, active or not.
  Node** successors = nullptr;                ///< In its graph's list of all.
  std::uint32_t successor_count = 0;
  float weight_ns = 0;       ///< Longest way to the end, this task included.
  float cost_ns = 0;         ///< Moving average of what has been measured, or the user's estimate; 0: not known.
  std::uint32_t number = 0;  ///< In its graph, or in this run for a spawned one.
  TaskKind kind;
  WorkerId last_worker;
  bool is_of_graph : 1 = false;
  bool is_spawned : 1 = false;
  bool leads_to_send : 1 = false;
  bool has_claims : 1 = false;
  bool has_first_body : 1 = false;
  bool is_starting : 1 = false;  ///< Handed over by a thread that is no worker: to be made ready by one.
  bool continues : 1 = false;    ///< Its body is now what `TaskContext::then` was given, and is still to run.
  CostSource cost_source : 2 = CostSource::kind;
  RoleRef role = Role::compute;
  Node* next = nullptr;  ///< In an inbox, among those whose message is complete, or among those that are free.

  Body body;
  std::unique_ptr<std::vector<Claim>> claims;

  std::unique_ptr<NodeMessage> message;
  std::uint64_t object = 0;
  std::uint64_t caused_by = 0;
  nanoseconds ready{};
  union {
    Graph* owner = nullptr;  ///< Of a graph's task.
    const Label* label;      ///< Of any other, or null; `kind` is then meaningless.
  };
  Node* parent = nullptr;            ///< Of a spawned task.
  Ending* ending = nullptr;          ///< Of a task of no graph.
  std::unique_ptr<Body> first_body;  ///< While it continues, of all but spawned tasks, which run once.
};

static_assert(sizeof(Node) == 192, "three cache lines");

/// A task that a running task has spawned, in the pool of that worker.
struct SpawnedNode : Node {
  SpawnedNode() noexcept : Node{TaskKind{}} { is_spawned = true; }
  std::uint32_t home = 0;  ///< The worker whose pool it is from.
};

}  // namespace plait::task::detail
