// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/comm/promise.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task::detail {

class Runs;

/// What one worker knows of one run. Only that worker writes it while the run goes on.
struct alignas(64) RunShare {
  /// Adds to a counter that one thread writes. Each worker counts its own tasks, so that no count is shared.
  static void count(std::atomic<std::uint64_t>& counter, std::uint64_t how_many = 1) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + how_many, std::memory_order_release);  // with open_tasks()
  }

  std::atomic<std::uint64_t> created = 0;
  std::atomic<std::uint64_t> ended = 0;
  std::vector<float> kind_cost_ns;  ///< Mean cost by kind, of the tasks that this worker has measured in this graph.
};

/// The state of one run: what its tasks have in common. A task leads here by its `epoch`, see `RunTable`.
///
/// Threads: the first block is written before the first task starts; for the other blocks see their comments.
struct RunState {
  RunState(Runs& its_runs, std::size_t worker_count) : runs{its_runs}, shares(worker_count) {}

  /// The name of one of its tasks in errors, and in traces; its number in traces.
  [[nodiscard]] const std::string& name_of(const Node& node) const;
  [[nodiscard]] trace::NameId trace_name_of(const Node& node) const;
  [[nodiscard]] std::uint64_t id_of(const Node& node) const noexcept { return first_id + node.number; }

  /// Makes the state of a graph's run that is over, and that no other thread has, ready for the next run.
  void reset() noexcept {
    names.clear();
    for (RunShare& share : shares) {
      share.created.store(0, std::memory_order_relaxed);  // published by the table, as are the rest
      share.ended.store(0, std::memory_order_relaxed);
    }
    is_closed.store(false, std::memory_order_relaxed);
    is_lone.store(false, std::memory_order_relaxed);
    is_over.store(false, std::memory_order_relaxed);
    is_watch_new.store(true, std::memory_order_relaxed);
    ended_seen = 0;
    last_move = {};
  }

  /// Tasks that were created and have not ended, and 1 while the run is open for more; 0 only when it is so.
  ///
  /// Ended tasks are summed first: a task is counted as created before it can end, and by the thread that creates it
  /// before that one ends. So if a task is missing from the second sum, one that has not ended (it, or the one that
  /// created it) is missing from the first.
  [[nodiscard]] std::uint64_t open_tasks() const noexcept {
    std::uint64_t ended = 0;
    for (const RunShare& share : shares) {
      ended += share.ended.load(std::memory_order_acquire);  // with RunShare::count()
    }
    std::uint64_t created = created_outside.load(std::memory_order_acquire);  // with count_in() and close()
    for (const RunShare& share : shares) {
      created += share.created.load(std::memory_order_acquire);  // with RunShare::count()
    }
    return created - ended;
  }

  // Written before the first task starts.
  Runs& runs;
  std::uint32_t epoch = 0;
  std::uint32_t step = 0;                 ///< In traces.
  std::uint64_t first_id = 1;             ///< Of its tasks in the trace.
  Graph* graph = nullptr;                 ///< Null in an open run.
  bool are_all_active = false;            ///< All tasks of the graph take part.
  std::vector<trace::NameId> names;       ///< By kind of the graph; empty when nothing is recorded.
  std::function<std::string()> describe;  ///< Of an open run: what waits.
  std::function<bool()> closes_when;      ///< Of an open run: see `OpenRun::close_when`.

  // Any thread.
  alignas(64) std::atomic<std::uint64_t> created_outside = 0;  ///< Tasks counted in by threads that may be no workers.
  std::atomic<bool> is_closed = false;                         ///< No further task comes from outside.
  std::atomic<bool> is_lone = false;                           ///< Needs no thread beside the workers.
  std::atomic<std::uint32_t> waiting_threads = 0;
  std::atomic<bool> is_over = false;  ///< All tasks have ended. Stored last, with release, by the thread that finds it.
  SpinLock lock;                      ///< Of `promises`.
  std::vector<comm::Promise> promises;  ///< Completed when the run is over.

  // Worker 0, for the watch.
  std::atomic<bool> is_watch_new = true;  ///< A thread has begun to wait; any thread.
  std::uint64_t ended_seen = 0;
  nanoseconds last_move{};

  std::vector<RunShare> shares;  ///< By worker.
};

}  // namespace plait::task::detail
