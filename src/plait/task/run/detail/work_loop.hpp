// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>

#include "plait/base/backoff.hpp"
#include "plait/task/run/detail/lifecycle.hpp"
#include "plait/task/run/detail/queues.hpp"
#include "plait/task/run/detail/scheduler_state.hpp"
#include "plait/task/run/detail/seat.hpp"

namespace plait::task::detail {

class Runs;

/// Until when a worker works: until a flag is set or a function returns true.
struct Until {
  const std::atomic<bool>* flag = nullptr;
  const std::function<bool()>* is_done = nullptr;

  [[nodiscard]] bool operator()() const {
    return flag != nullptr ? flag->load(std::memory_order_acquire) : (*is_done)();  // with Runs::finish()
  }
};

/// What a worker does: executes tasks, polls the network between them, settles runs and sleeps when there are none.
/// Threads: the worker's own.
class WorkLoop {
 public:
  WorkLoop(SchedulerState& state, Queues& queues, Lifecycle& lifecycle, Seat& seat, Runs& runs) noexcept
      : state_{state}, queues_{queues}, lifecycle_{lifecycle}, seat_{seat}, runs_{runs} {}

  /// The life of a thread of the scheduler: works while a run is open, until the scheduler ends.
  void serve(Worker& worker);
  /// Worker 0: works until `until()`, which it asks after each task, or until a run has failed.
  void help(Worker& worker, Until until);

 private:
  void work(Worker& worker, const Until* until);
  [[nodiscard]] bool is_done(const Until* until) const {
    return until != nullptr ? (*until)() : !state_.runs.has_work();
  }
  void begin_to_work(Worker& worker) const noexcept;
  void poll(Worker& worker);
  void idle(Worker& worker, Backoff& backoff);

  SchedulerState& state_;
  Queues& queues_;
  Lifecycle& lifecycle_;
  Seat& seat_;
  Runs& runs_;
  Crowding crowding_;
};

/// Clears the mark of worker 0's queue that no thread takes from it.
void attend(Worker& worker);

}  // namespace plait::task::detail
