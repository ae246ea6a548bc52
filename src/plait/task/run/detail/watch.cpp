// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "plait/task/waiting.hpp"

namespace plait::task::detail {

namespace {

std::string describe(const RunState& run) {
  if (run.graph != nullptr) {
    return describe_waiting(active_tasks(run), run.graph->kinds());
  }
  return run.describe ? run.describe() : "";
}

}  // namespace

void Watch::check(const Worker& first) {
  const nanoseconds stall_max = state_.options.stall_max;
  last_check_ = first.now;
  state_.runs.for_each([&](RunState& run) {
    if (run.waiting_threads.load(std::memory_order_relaxed) == 0) {  // a hint
      return;
    }
    if (is_moving(run, first)) {
      run.last_move = first.now;
    } else if (first.now - run.last_move > stall_max) {
      state_.failure.fail(
          Error{ErrorCode::timeout,
                fmt::format("{} for {} s on rank {}; waiting are {}. Does each message have its partner?",
                            stall_sentence,
                            std::chrono::duration_cast<std::chrono::seconds>(stall_max).count(),
                            state_.endpoint.self().value(),
                            describe(run))});
    }
  });
}

/// Reads hints only: a missed movement is seen at the next check.
bool Watch::is_moving(RunState& run, const Worker& first) const noexcept {
  std::uint64_t ended = 0;
  bool is_running = false;
  for (const auto& worker : state_.workers) {
    ended += run.shares[worker->id.value()].ended.load(std::memory_order_relaxed);
    is_running = is_running || worker->running.load(std::memory_order_relaxed) == run.epoch;
  }
  const bool has_network_moved = !state_.runs.has_several() && first.last_poll > run.last_move;
  const bool is_new = run.is_watch_new.exchange(false, std::memory_order_relaxed);
  return std::exchange(run.ended_seen, ended) != ended || is_running || has_network_moved || is_new;
}

std::vector<Task> active_tasks(const RunState& run) {
  std::vector<Task> active;
  std::ranges::copy_if(
      run.graph->all(), std::back_inserter(active), [&](const Task& task) { return task.node().epoch == run.epoch; });
  return active;
}

}  // namespace plait::task::detail
