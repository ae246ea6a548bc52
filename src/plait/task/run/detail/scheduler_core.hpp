// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "plait/comm/copy_helpers.hpp"
#include "plait/task/run/detail/lifecycle.hpp"
#include "plait/task/run/detail/message_tasks.hpp"
#include "plait/task/run/detail/queues.hpp"
#include "plait/task/run/detail/runs.hpp"
#include "plait/task/run/detail/scheduler_state.hpp"

namespace plait::task::detail {

/// The members of a `Scheduler`, and the threads of all workers but the first.
struct SchedulerCore {
  SchedulerCore(comm::Endpoint& endpoint, trace::Recorder& recorder, SchedulerOptions options)
      : state{endpoint, recorder, std::move(options)} {
    if (state.has_several_workers()) {
      copy_helpers.emplace(endpoint, [this](std::uint32_t count) { wake(count); });
    }
    for (std::size_t index = 1; index < state.workers.size(); ++index) {
      const auto life = [this, index] {
        state.recorder.enter_worker(state.workers[index]->id);
        runs.loop().serve(*state.workers[index]);
      };
      if (state.executor == nullptr) {
        threads.emplace_back(life);
        continue;
      }
      ++carried;
      state.executor->start([this, life] {
        life();
        --carried;
        state.executor->notify();
      });
    }
  }
  SchedulerCore(const SchedulerCore&) = delete;
  SchedulerCore& operator=(const SchedulerCore&) = delete;
  ~SchedulerCore() {
    state.sleep.end();
    while (carried > 0) {
      state.executor->wait();
    }
  }

  /// Wakes workers that sleep for a moment as they have no task: they help to copy large messages.
  void wake(std::uint32_t count) {
    for (std::uint32_t helper = 0; helper < count; ++helper) {
      state.sleep.nudge();
    }
  }

  SchedulerState state;
  Queues queues{state};
  MessageTasks messages{state};
  Lifecycle lifecycle{state, queues, messages};
  Runs runs{state, queues, lifecycle};
  std::optional<comm::CopyHelpers> copy_helpers;  ///< If there are workers beside the first.
  std::uint32_t carried = 0;                      ///< Workers that the executor carries.
  std::vector<std::jthread> threads;              // last: they end before what they use
};

}  // namespace plait::task::detail
