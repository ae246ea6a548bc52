// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/domains/domain.hpp"
#include "plait/particles/store/cell_sizes.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/particles/times.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::particles {

class Tree;

/// The cells of particles with individual time steps, and the present step. Its owner changes it between steps.
struct CellFrame {
  CellSizes sizes;  ///< Interactions keep the particles in the order of these cells.
  Field<std::uint8_t> bin;
  Field<Vector> velocity;                            ///< By which positions drift.
  std::function<double(std::uint32_t cell)> behind;  ///< By which its positions drift to the present.
  double now = 0;                                    ///< By which positions drift, since the first step.
  std::uint8_t longest = 255;                        ///< The longest bin of active particles, on which forces act.
  std::span<const std::uint32_t> active = {};        ///< Cells with active particles; their positions are present.
};

/// The particles and the step's graph, which the interactions of a system share.
struct StepFrame {
  comm::Endpoint& messages;
  Particles& store;
  task::Graph& graph;
  std::uint32_t worker_count = 1;
  const Space& space;  ///< Interactions may keep a reference. The time of its shear changes between steps.
  comm::CommId comm;   ///< For messages and collectives of this interaction only.
  /// The last task that occupies a worker while it waits for other ranks. Such tasks run one after the other, in the
  /// same order on all ranks: a new one waits for this one and replaces it.
  std::optional<task::Task>& last_waiting;
  /// Null if all particles take equal steps. Then `add_building_tasks` adds tasks for steps in which ranks exchange
  /// what they know of each other, `add_refreshing_tasks` for steps in which each predicts it.
  const CellFrame* cells = nullptr;
  /// The domains of the ranks. Results do not depend on it; the cost of exchanges among many ranks does.
  DomainGrid grid = cubic_grid(messages.rank_count());
  /// Of one build, this and the later steps until the next. Results do not depend on it.
  std::uint32_t steps_between_trees = 1;
};

/// The interface of long-range, short-range and a program's own interactions: sums over particles that a system
/// computes in each step, as tasks of the step's graph.
///
/// Running tasks decide which messages a step needs (`TaskContext::send`, `receive`, `wait_for`); both ranks of a
/// message must decide alike. Threads: one at a time, while no step runs.
class Interaction {
 public:
  Interaction() = default;
  Interaction(const Interaction&) = delete;
  Interaction& operator=(const Interaction&) = delete;
  virtual ~Interaction() = default;

  /// Adds the tasks that reorder particles, such as a tree build, for steps in which particles may have changed ranks.
  /// The first must wait for `after`, each other for the one before it; there may be none. Called first, once for each
  /// graph.
  virtual std::vector<task::Task> add_building_tasks(const StepFrame& frame, task::Task after) = 0;
  /// The same for steps in which particles keep their places and only their fields have changed.
  virtual std::vector<task::Task> add_refreshing_tasks(const StepFrame& frame, task::Task after) = 0;
  /// Adds the tasks that sum. They run between `after` and `end`, when the order is final and results are zero.
  virtual std::vector<task::Task> add_summing_tasks(const StepFrame& frame, task::Task after, task::Task end) = 0;
  /// Sets its results to zero for the particles [first, last).
  virtual void clear_results(Particles& store, std::size_t first, std::size_t last) = 0;
  /// Adds the cost of its tasks since the last call to `times`.
  virtual void take_times(StepTimes& times) = 0;
  /// How much larger the parts of its search structure are than when it was built, by which a driver decides to build
  /// it anew; 1 if it has none.
  [[nodiscard]] virtual double growth() const noexcept { return 1; }
  /// The tree whose batches are the cells of later short-range interactions; null if it has none.
  [[nodiscard]] virtual const Tree* tree() const noexcept { return nullptr; }
};

}  // namespace plait::particles
