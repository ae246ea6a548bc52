// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/scheduler_state.hpp"

#include <utility>

#include <fmt/format.h>

#include "plait/task/run/kinds.hpp"

namespace plait::task::detail {

SchedulerState::SchedulerState(comm::Endpoint& its_endpoint,
                               trace::Recorder& its_recorder,
                               SchedulerOptions its_options)
    : endpoint{its_endpoint},
      recorder{its_recorder},
      executor{its_endpoint.executor()},
      options{std::move(its_options)},
      counts_tasks{its_recorder.counts_tasks()},
      failure{its_endpoint} {
  if (options.worker_count == 0) {
    throw Error{ErrorCode::bad_argument, "a run needs at least one worker: set workers to 1 or more"};
  }
  for (std::uint32_t index = 0; index < options.worker_count; ++index) {
    const WorkerId id{static_cast<std::uint16_t>(index)};
    workers.push_back(std::make_unique<Worker>(id, recorder.thread(id, fmt::format("worker {}", index))));
    workers.back()->random = index * 2654435761U + 1;
  }
}

const std::string& RunState::name_of(const Node& node) const {
  return node.its_label() != nullptr ? node.its_label()->name : graph->kinds()[node.kind.value()];
}

trace::NameId RunState::trace_name_of(const Node& node) const {
  return node.its_label() != nullptr ? node.its_label()->trace_name : names[node.kind.value()];
}

void NodeMessage::released(const comm::Status& /*its_status*/) noexcept {
  scheduler->note(node);
}

}  // namespace plait::task::detail
