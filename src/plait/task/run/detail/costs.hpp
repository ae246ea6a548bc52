// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/base/clock.hpp"
#include "plait/task/detail/worker.hpp"

namespace plait::task::detail {

/// Takes what is not known of a task's cost from its kind.
inline void suppose_cost(const Worker& worker, Node& node) noexcept {
  if (node.cost_ns == 0 && node.kind.value() < worker.share->kind_cost_ns.size()) {
    node.cost_ns = worker.share->kind_cost_ns[node.kind.value()];
  }
}

/// Whether to measure this execution: all that is long or not known yet, one in 16 of short ones, and everything when
/// it is recorded. Reading the clock takes as long as the shortest tasks.
[[nodiscard]] bool must_measure(Worker& worker, Node& node) noexcept;

/// Adds a measurement to the task's mean and to its kind's.
void learn(const Worker& worker, Node& node, nanoseconds took) noexcept;

}  // namespace plait::task::detail
