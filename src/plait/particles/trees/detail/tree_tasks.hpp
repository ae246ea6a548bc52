// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plait/particles/interaction.hpp"
#include "plait/particles/times.hpp"
#include "plait/particles/trees/tree_build.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::particles::detail {

/// The times of the worker that runs a task.
using PhasesOf = std::function<PhaseTimes&(const task::TaskContext&)>;

/// Adds the tasks of `build`; the first waits for `after`, each other for the one before it. They spawn the
/// pieces of a phase. `begin` calls `TreeBuild::begin`.
std::vector<task::Task> add_tree_tasks(const StepFrame& frame,
                                       task::Task after,
                                       TreeBuild& build,
                                       std::function<void(std::uint32_t pieces)> begin,
                                       PhasesOf phases);

}  // namespace plait::particles::detail
