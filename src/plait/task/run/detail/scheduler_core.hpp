// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>
#include <utility>
#include <vector>

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
    for (std::size_t index = 1; index < state.workers.size(); ++index) {
      threads.emplace_back([this, index] { runs.loop().serve(*state.workers[index]); });
    }
  }
  SchedulerCore(const SchedulerCore&) = delete;
  SchedulerCore& operator=(const SchedulerCore&) = delete;
  ~SchedulerCore() { state.sleep.end(); }

  SchedulerState state;
  Queues queues{state};
  MessageTasks messages{state};
  Lifecycle lifecycle{state, queues, messages};
  Runs runs{state, queues, lifecycle};
  std::vector<std::jthread> threads;  // last: they end before what they use
};

}  // namespace plait::task::detail
