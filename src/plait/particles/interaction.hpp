// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/particles.hpp"
#include "plait/particles/space.hpp"
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
  comm::CommId comm;  ///< For the interaction's own messages and collectives: nobody else's.
  /// The last summing task so far that waits for other ranks while it runs: those come one after the other, in the same
  /// order on all ranks.
  std::optional<task::Task>& last_waiting;
};

/// Sums over particles that a system computes in each step, as tasks of the step's graph.
///
/// The interface on which long-range and short-range interactions meet the system, and a program's own may. What a step
/// needs of messages is decided by running tasks (`TaskContext::send`, `receive`, `wait_for`), alike on both sides.
/// Threads: called while no step runs, but for what its tasks do.
class Interaction {
 public:
  Interaction() = default;
  Interaction(const Interaction&) = delete;
  Interaction& operator=(const Interaction&) = delete;
  Interaction(Interaction&&) = delete;
  Interaction& operator=(Interaction&&) = delete;
  virtual ~Interaction() = default;

  /// Adds what brings the particles into its order, in steps in which they may have changed their ranks: a tree, say.
  /// The first waits for `after`, each for the one before it, and what comes next for the last. None: it needs none.
  /// Called once, before the first step.
  virtual std::vector<task::Task> add_building_tasks(const StepFrame& frame, task::Task after) = 0;
  /// The same for steps in which all particles have kept their places, and only values have changed.
  virtual std::vector<task::Task> add_refreshing_tasks(const StepFrame& frame, task::Task after) = 0;
  /// Adds what sums up: after `after`, when particles keep their places and its results are zero; before `end`.
  virtual std::vector<task::Task> add_summing_tasks(const StepFrame& frame, task::Task after, task::Task end) = 0;
  /// Sets its results to zero for the particles from `first` to `last` - 1.
  virtual void clear_results(Particles& store, std::size_t first, std::size_t last) = 0;
  /// Adds what its tasks have cost since the last call to `times`, and begins anew.
  virtual void take_times(StepTimes& times) = 0;
};

}  // namespace plait::particles
