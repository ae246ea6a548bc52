// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plait/task/detail/node.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/run/detail/run_state.hpp"
#include "plait/task/run/kinds.hpp"

namespace plait::task::detail {

/// What a task of `run` is called in errors.
[[nodiscard]] inline const std::string& name_of(const RunState& run, const Node& node) {
  return node.its_label() != nullptr ? node.its_label()->name : run.graph->kinds()[node.kind.value()];
}

/// What a task of `run` is called in traces.
[[nodiscard]] inline trace::NameId trace_name_of(const RunState& run, const Node& node) {
  return node.its_label() != nullptr ? node.its_label()->trace_name : run.names[node.kind.value()];
}

/// Its number in traces.
[[nodiscard]] inline std::uint64_t id_of(const RunState& run, const Node& node) noexcept {
  return run.first_id + node.number;
}

}  // namespace plait::task::detail
