// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/flow.hpp"

namespace plait::task {

std::span<std::byte> detail::local_bytes(Datum& datum) {
  return datum.engine->local_bytes(datum);
}

std::string detail::name_of(const Datum& datum) {
  return datum.engine->data().name_of(datum.id);
}

Flow::Flow(comm::Endpoint& endpoint, Scheduler& scheduler, trace::Recorder& recorder, const FlowOptions& options)
    : endpoint_{endpoint}, engine_{std::make_shared<detail::FlowEngine>(endpoint, scheduler, recorder, options)} {}

Flow::~Flow() {
  const bool has_ended = engine_->is_quiet() && !engine_->has_failed();
  engine_->abandon();
  if (!has_ended) {
    endpoint_.keep(std::move(engine_));  // the endpoint may still know its buffers
  }
}

}  // namespace plait::task
