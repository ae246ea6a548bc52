// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plait/particles/times.hpp"
#include "plait/particles/trees/tree.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::particles::detail {

/// Where a task's time goes.
using PhasesOf = std::function<PhaseTimes&(const task::TaskContext&)>;

struct TreeTaskOptions {
  std::uint32_t worker_count = 1;
  PhasesOf phases;
};

/// Adds the tasks that build `tree`, after `after`: each waits for the one before. `begin` calls `Tree::begin`. The
/// pieces of the sort and of the tree are spawned by the tasks between which everything must come together.
std::vector<task::Task> add_tree_tasks(task::Graph& graph,
                                       task::Task after,
                                       Tree& tree,
                                       std::function<void(std::uint32_t pieces)> begin,
                                       const TreeTaskOptions& options);

}  // namespace plait::particles::detail
