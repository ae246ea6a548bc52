// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/particles/domains/domain.hpp"
#include "plait/particles/steps/detail/driver_place.hpp"
#include "plait/particles/steps/detail/equal_steps.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/particles/times.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/task_context.hpp"

namespace plait::particles::detail {

/// Steps of all particles: functions before, decomposition, exchange, trees, sums, functions after, as one graph.
/// Threads: one at a time.
class TreeDriver {
 public:
  struct Parts {
    const Hooks& hooks;
    std::span<const SystemInteraction> interactions;
    EqualSteps* steps = nullptr;  ///< Null without an integrator.
  };

  /// Borrows all but the parts themselves. Builds the graph.
  TreeDriver(const DriverPlace& place, const SystemOptions& options, const Parts& parts);
  TreeDriver(const TreeDriver&) = delete;
  TreeDriver& operator=(const TreeDriver&) = delete;

  /// Runs the functions of a step and its sums, or sums alone. Throws: as `Scheduler::run`.
  void run(bool is_step);
  /// See `System::particles_changed`.
  void forget_trees() noexcept { has_trees_ = false; }
  /// Lets the next step build trees, and the domain be decomposed, as in a run that goes on from here.
  void prepare_resumption() noexcept;
  /// Moves the times of workers since the last call to `times`.
  void take_phases(PhaseTimes& times);

 private:
  using PieceFunction = std::function<void(const task::TaskContext& context, std::size_t first, std::size_t last)>;

  /// The tasks of a step, which activates some lists.
  struct Tasks {
    std::vector<task::Task> first;
    std::vector<task::Task> decomposing;  ///< In steps that decompose.
    std::vector<task::Task> exchanging;   ///< In steps that build trees, including the wrap of positions.
    std::vector<task::Task> building;     ///< In steps that build trees.
    std::vector<task::Task> refreshing;   ///< In other steps.
    std::vector<task::Task> summing;
    std::vector<task::Task> last;
    std::vector<task::Task> finishing;  ///< Of updates, after the sums.
    std::vector<task::Task> choosing;   ///< In all runs, if ranks agree on the length of steps.
  };

  void build_graph();
  [[nodiscard]] task::Task add_wrap(task::Task after);
  void add_choice(task::Task summed, task::Task ended);
  void add_decomposition(task::Task after);
  [[nodiscard]] task::Task add_exchange(task::Task after);
  void add_sums(task::Task moved, task::Task arrived, task::Task end);
  task::Task add_hooks(std::span<const Hook> hooks, task::Task after, std::vector<task::Task>& tasks);
  [[nodiscard]] task::Task add_for_pieces(const std::string& kind, PieceFunction function, task::Task after);
  void check_unchanged() const;

  [[nodiscard]] bool is_parallel() const { return place_.messages.rank_count() > 1; }
  [[nodiscard]] std::size_t pieces() const;
  [[nodiscard]] PhaseTimes& phases(const task::TaskContext& context) { return phases_[context.worker().value()]; }

  const DriverPlace place_;
  const SystemOptions& options_;
  const Parts parts_;
  task::Graph graph_;
  Tasks tasks_;
  Domain next_domain_;              ///< The result of a decomposition, in use from the next step on.
  std::vector<PhaseTimes> phases_;  ///< By worker.
  std::uint64_t steps_;             ///< With those of an earlier run that goes on.
  std::uint64_t updates_ = 0;       ///< Since the last build.
  bool has_trees_ = false;
  std::size_t size_noted_ = 0;  ///< Of the store after the last step.
  std::uint64_t next_cut_ = 0;  ///< The step of the next decomposition.
};

}  // namespace plait::particles::detail
