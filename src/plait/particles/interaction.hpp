// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/particles/times.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::particles {

/// What the interactions of a system share: the step's graph, and the particles.
struct StepFrame {
  comm::Endpoint& messages;
  Particles& store;
  task::Graph& graph;
  std::uint32_t worker_count = 1;
  const Space& space;
  comm::CommId comm;  ///< For the interaction's own messages and collectives only.
  /// The last summing task so far that waits for other ranks while it runs: such tasks run one after the other, in the
  /// same order on all ranks.
  std::optional<task::Task>& last_waiting;
};

/// Sums over particles that a system computes in each step, as tasks of the step's graph.
///
/// The interface of long-range, short-range and a program's own interactions. Running tasks decide which messages a
/// step needs (`TaskContext::send`, `receive`, `wait_for`), in the same way on both sides.
/// Threads: called while no step runs, except by its tasks.
class Interaction {
 public:
  Interaction() = default;
  Interaction(const Interaction&) = delete;
  Interaction& operator=(const Interaction&) = delete;
  virtual ~Interaction() = default;

  /// Adds the tasks that bring the particles into its order, such as those of a tree, in steps in which particles may
  /// have changed ranks. The first waits for `after`, each other for the one before it. May be none. Called once,
  /// before the first step.
  virtual std::vector<task::Task> add_building_tasks(const StepFrame& frame, task::Task after) = 0;
  /// The same for steps in which all particles have kept their places, and only values have changed.
  virtual std::vector<task::Task> add_refreshing_tasks(const StepFrame& frame, task::Task after) = 0;
  /// Adds the tasks that sum: after `after`, when particles keep their places and its results are zero; before `end`.
  virtual std::vector<task::Task> add_summing_tasks(const StepFrame& frame, task::Task after, task::Task end) = 0;
  /// Sets its results to zero for the particles from `first` to `last` - 1.
  virtual void clear_results(Particles& store, std::size_t first, std::size_t last) = 0;
  /// Adds the cost of its tasks since the last call to `times`.
  virtual void take_times(StepTimes& times) = 0;
};

}  // namespace plait::particles
