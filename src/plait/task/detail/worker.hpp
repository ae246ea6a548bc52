// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/task/body.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/detail/node_pool.hpp"
#include "plait/task/ready_queue.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/task/work_deque.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task::detail {

/// One worker: its queues, which others may take from, and what only its own thread touches.
struct alignas(64) Worker {
  Worker(WorkerId its_id, trace::ThreadRecorder& its_trace) : id{its_id}, trace{its_trace}, pool{its_id.value()} {}

  /// Counts a task that was made, or has ended. Each worker counts its own, so that no count is fought over; see
  /// `Scheduler::open_tasks`.
  static void count(std::atomic<std::uint64_t>& counter, std::uint64_t how_many = 1) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + how_many, std::memory_order_release);
  }

  WorkerId id;
  trace::ThreadRecorder& trace;
  ReadyQueue queue;
  WorkDeque deque;  ///< Spawned tasks that nobody has given a weight.

  alignas(64) std::atomic<std::uint64_t> made = 0;
  std::atomic<std::uint64_t> ended = 0;
  std::atomic<const Node*> running = nullptr;  ///< For check_stall().

  // What it runs next, in this order: a task that the last one has made ready, and what it has taken from a queue.
  alignas(64) Node* next = nullptr;
  std::uint32_t batch_next = 0;
  std::uint32_t batch_end = 0;
  std::array<Node*, 16> batch{};

  nanoseconds now{};          ///< The last reading of the clock.
  bool is_now_fresh = false;  ///< No wait since that reading, and no task.
  bool is_busy = false;
  bool is_finishing = false;
  bool continues = false;            ///< The running body has called `TaskContext::then`.
  std::uint32_t until_measured = 1;  ///< Short tasks until the next that is measured.
  std::uint32_t random = 1;
  nanoseconds busy_since{};
  nanoseconds last_poll{};
  std::vector<float> kind_cost_ns;  ///< Mean of what this worker has measured in this graph.
  std::vector<Node*> finishing;
  std::vector<NodeMessage*> sends;  ///< Ready, not posted yet.
  Body continuation;
  NodePool pool;
  WorkerTimes times;

  nanoseconds last_move{};  ///< When it last saw something happen; see check_stall().
  std::uint64_t ended_seen = 0;
};

}  // namespace plait::task::detail
