// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/executor.hpp"
#include "plait/base/id.hpp"
#include "plait/task/body.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/detail/node_pool.hpp"
#include "plait/task/detail/ready_queue.hpp"
#include "plait/task/detail/work_deque.hpp"
#include "plait/task/run/detail/run_state.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task::detail {

/// One worker: its queues, which others may take from, and what only its own thread touches.
struct alignas(64) Worker {
  Worker(WorkerId its_id, trace::ThreadRecorder& its_trace) : id{its_id}, trace{its_trace}, pool{its_id.value()} {}

  /// Sets an unknown cost to that of the task's kind.
  void suppose_cost(Node& node) const noexcept {
    if (node.cost_ns == 0 && node.kind.value() < share->kind_cost_ns.size()) {
      node.cost_ns = share->kind_cost_ns[node.kind.value()];
    }
  }

  WorkerId id;
  trace::ThreadRecorder& trace;
  ReadyQueue queue;
  WorkDeque deque;  ///< Spawned tasks without a weight.

  alignas(64) std::atomic<std::uint32_t> running = 0;  ///< Epoch of the run whose task it executes; 0: none.
  std::atomic<std::int64_t> busy_ns = 0;               ///< See `WorkerTimes`, as the next two.
  std::atomic<std::int64_t> total_ns = 0;
  std::atomic<std::uint64_t> tasks = 0;

  // The run of the task at hand; the run itself may be over when the next task is of another one.
  alignas(64) RunState* run = nullptr;
  RunShare* share = nullptr;
  std::uint32_t epoch = 0;

  // What it runs next, in this order: a task that the last one has made ready, and what it has taken from a queue.
  Node* next = nullptr;
  std::uint32_t batch_next = 0;
  std::uint32_t batch_end = 0;
  std::array<Node*, 16> batch{};

  nanoseconds now{};          ///< The last reading of the clock.
  bool is_now_fresh = false;  ///< No wait since that reading, and no task.
  bool is_busy = false;
  bool is_finishing = false;
  BodyUse body_use = BodyUse::runs;  ///< Of the running task.
  bool continues = false;            ///< The running body has called `TaskContext::then`.
  std::uint32_t until_measured = 1;  ///< Short tasks until the next that is measured.
  std::uint32_t random = 1;
  nanoseconds busy_since{};
  nanoseconds last_poll{};
  std::vector<Node*> finishing;
  std::vector<NodeMessage*> sends;  ///< Ready, not posted yet.
  Body continuation;
  NodePool pool;
  std::atomic<std::uint64_t> thread = 0;  ///< The `thread_number` of the scheduler's own threads.
  bool is_inside = false;                 ///< A thread works as this one.
  bool is_unattended = false;             ///< Of worker 0: no thread is it, and runs go on.
};

}  // namespace plait::task::detail
