// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/particles.hpp"
#include "plait/particles/times.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::particles {

class Domains;
class Tree;

/// The part of a system's step that its interactions are added to: what they may start after, and what waits for them.
///
/// Between `tree` and `end` the particles keep their places; positions do not change, but what an interaction sums up.
struct StepFrame {
  comm::Endpoint& messages;
  Particles& store;
  const Tree& tree;  ///< Over all particles of this rank; ready when `tree_ready` has ended.
  task::Graph& graph;
  task::Task tree_ready;
  task::Task end;  ///< Everything that an interaction adds must come before it.
  std::uint32_t worker_count = 1;
};

/// Sums over particles that a system computes in each step, as tasks of the step's graph.
///
/// The interface on which long-range and short-range interactions meet the system, and a program's own may. Its tasks
/// run in every step; what a step needs of messages is decided by running tasks (`TaskContext::send`, `receive`,
/// `wait_for`), alike on both sides. Threads: called while no step runs, but for what its tasks do.
class Interaction {
 public:
  Interaction() = default;
  Interaction(const Interaction&) = delete;
  Interaction& operator=(const Interaction&) = delete;
  Interaction(Interaction&&) = delete;
  Interaction& operator=(Interaction&&) = delete;
  virtual ~Interaction() = default;

  /// Adds its tasks, once, before the first step.
  virtual void add_tasks(const StepFrame& frame) = 0;
  /// Adds what its tasks have cost since the last call to `times`, and begins anew.
  virtual void take_times(StepTimes& times) = 0;
};

}  // namespace plait::particles
