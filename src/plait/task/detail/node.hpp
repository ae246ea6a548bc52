// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/graph.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task {
class Scheduler;
}

namespace plait::task::detail {

/// `event`: ends when it is said to have ended (`OpenRun::has_ended`); nobody executes or posts it.
enum class Role : std::uint8_t { compute, join, send, receive, event };

struct Node;

/// What a task that is of no graph is called.
struct Label {
  std::string name;
  trace::NameId trace_name{};
};

/// Where the owner of an ended task hands over what may run now. Valid during the call; of the worker that calls.
class ReadySink {
 public:
  /// `node`, counted already, waits for nothing any more.
  virtual void ready(Node& node) = 0;
  /// As `ready`, and counts it: for a task that runs once more.
  virtual void again(Node& node) = 0;

 protected:
  ~ReadySink() = default;
};

/// The owner of tasks that are of no graph: it keeps what comes after them, and their memory.
class Ending {
 public:
  /// `node` has ended, its locks are free, and the scheduler does not look at it again. Called once for each time that
  /// it ran, by the worker that ended it.
  virtual void ended(Node& node, ReadySink& sink) noexcept = 0;

 protected:
  ~Ending() = default;
};

/// A task: what the graph's builder said of it, and its state in the present run.
struct Node final : comm::Completion {
  explicit Node(TaskKind its_kind) : kind{its_kind} {}
  void completed(const comm::Status& its_status) noexcept override { status = its_status; }
  /// A message of this task has come or left, and nobody else needs its buffer, which the tasks after this one may
  /// write: notes it, for a worker to act on.
  void released(const comm::Status& its_status) noexcept override;

  Graph* owner = nullptr;        ///< Nothing for a spawned task, and for one of no graph.
  Ending* ending = nullptr;      ///< Of a task of no graph.
  const Label* label = nullptr;  ///< Of a task of no graph; `kind` then tells nothing.
  std::uint32_t number = 0;      ///< In its graph.
  TaskKind kind;
  Role role = Role::compute;
  Body body;
  std::vector<Node*> successors;
  std::vector<Claim> resources;
  std::uint64_t object = 0;

  // Of send and receive tasks.
  comm::Address address;
  std::function<std::span<const std::byte>()> data;
  Bytes* growing = nullptr;
  std::span<std::byte> buffer;

  // What earlier runs have taught.
  double cost_ns = 0;    ///< Moving average; the estimate until it has run.
  double weight_ns = 0;  ///< Longest way to the end, this task included.
  WorkerId last_worker;

  // This run.
  std::uint32_t epoch = 0;  ///< Of the last run in which it was active.
  std::atomic<std::uint32_t> waits =
      0;  ///< What must still end before it is ready, and 1 while the run is being activated.
  std::atomic<std::uint32_t> unfinished = 0;  ///< Itself, and the tasks that it has spawned.
  Node* parent = nullptr;                     ///< Of a spawned task.
  std::uint64_t id = 0;
  std::uint64_t caused_by = 0;
  nanoseconds ready{};
  nanoseconds posted{};
  std::span<const std::byte> outgoing;  ///< What `data` has answered.
  comm::Status status;
  Scheduler* scheduler = nullptr;
  Node* next_noted = nullptr;
};

}  // namespace plait::task::detail
