// SPDX-License-Identifier: Apache-2.0
#include "plait/task/scheduler.hpp"

#include <utility>

#include "plait/task/run/detail/scheduler_core.hpp"

namespace plait::task {

Scheduler::Scheduler(comm::Endpoint& endpoint, trace::Recorder& recorder, SchedulerOptions options)
    : core_{std::make_unique<detail::SchedulerCore>(endpoint, recorder, std::move(options))} {}

Scheduler::~Scheduler() = default;

Run Scheduler::start(Graph& graph, std::span<const Task> active) {
  return active.empty() ? Run{} : Run{core_->runs.start(graph, active)};
}

void Scheduler::run(Graph& graph, std::span<const Task> active) {
  if (!active.empty()) {
    core_->runs.run(graph, active);
  }
}

std::uint32_t Scheduler::worker_count() const noexcept {
  return core_->state.options.worker_count;
}

std::vector<WorkerTimes> Scheduler::worker_times() {
  if (core_->state.runs.is_empty()) {
    core_->state.sleep.wait_until_none_works();
  }
  std::vector<WorkerTimes> times;
  for (const auto& worker : core_->state.workers) {
    times.push_back({.busy = nanoseconds{worker->busy_ns.load(std::memory_order_relaxed)},
                     .total = nanoseconds{worker->total_ns.load(std::memory_order_relaxed)},
                     .tasks = worker->tasks.load(std::memory_order_relaxed)});
  }
  return times;
}

void Scheduler::reset_worker_times() {
  static_cast<void>(worker_times());  // waits for the workers
  for (const auto& worker : core_->state.workers) {
    worker->busy_ns.store(0, std::memory_order_relaxed);
    worker->total_ns.store(0, std::memory_order_relaxed);
    worker->tasks.store(0, std::memory_order_relaxed);
  }
}

}  // namespace plait::task
