// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/clock.hpp"
#include "plait/task/detail/worker.hpp"

namespace plait::task::detail {

/// Returns whether to measure this execution: of short tasks one in 16, of others and in a trace every one. Reading the
/// clock takes as long as the shortest tasks.
[[nodiscard]] bool must_measure(Worker& worker, Node& node) noexcept;

/// Adds a measurement to the mean of the task and to that of its kind.
void learn(const Worker& worker, Node& node, nanoseconds took) noexcept;

/// Records a task, or its message, that has ended now.
void record(const Worker& worker, const Node& node, trace::TaskRole role, std::uint64_t object, nanoseconds start);

}  // namespace plait::task::detail
