// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/neighbours/halo.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/task/boundary_bins.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/task/time_bins.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles {

/// Which cells take part in a stage.
enum class Who : std::uint8_t {
  active,       ///< Those in which the step of any particle ends now.
  near_active,  ///< These, and all that are near to them: what active particles read there must be of this time.
};

/// What a stage does with one cell.
struct CellWork {
  task::TaskContext& context;
  std::uint32_t cell;
  task::Ticks now;
};

/// One of the things that are done with cells in a step, in their order.
///
/// A stage that reads neighbours must write to particles of its own cell only, and fields that it does not read there
/// of others: then all cells may run at once.
struct CellStage {
  std::string name;  ///< Of its tasks, in traces.
  Who who = Who::active;
  bool reads_neighbours = false;
  std::function<void(const CellWork&)> work;
  /// The fields that it writes and later stages read of neighbours: sent to the ranks with ghosts that need them.
  std::vector<AnyField> refreshes;
  /// It moves particles, or changes how far they reach. Not for stages that read neighbours.
  bool moves = false;
};

/// What a step was.
struct StepCount {
  task::Ticks next = 0;                ///< When any particle of any rank is to be updated next.
  bool is_any = false;                 ///< Whether `step`'s argument returned true on any rank.
  std::uint64_t active_particles = 0;  ///< Of all ranks, that were updated.
  std::uint64_t active_here = 0;       ///< Of these, on this rank.
  std::uint32_t active_cells = 0;      ///< Here, as the following.
  std::uint32_t tasks = 0;
  std::uint32_t messages = 0;  ///< Sent.
  std::uint64_t bytes = 0;
};

/// A question after a step, given the time of this rank's next update; all ranks get the disjunction of the answers.
using Ask = std::function<bool(task::Ticks next_here)>;

struct CellStepsOptions {
  Field<std::uint8_t> bin;  ///< The time bin of each particle (`task::TimeBin`).
  Field<float> reach;
  double reach_factor = 1;
  std::vector<CellStage> stages;
};

/// Steps of particles with individual time steps: a graph of tasks on cells, built once, of which each step activates
/// the stages of active cells, and the messages of cells whose ghosts are read.
///
/// A particle is active when the step of its bin ends (`task::is_active`), a cell when any of its particles is. Stages
/// choose new bins of active particles, and may shorten those of others, which wakes them. All ranks call the same
/// functions. The table, its halo and neighbours must stay as they are while this lives. Threads: one at a time.
class CellSteps {
 public:
  CellSteps(comm::Endpoint& endpoint,
            task::Scheduler& scheduler,
            CellTable& table,
            const Halo& halo,
            CellStepsOptions options);
  CellSteps(const CellSteps&) = delete;
  CellSteps& operator=(const CellSteps&) = delete;
  ~CellSteps();

  /// Takes over the bins of all particles as they are after the step at `now`; returns the time of the next step.
  task::Ticks begin(task::Ticks now);
  /// The step at `now`, which was returned as the next time. `ask` may be empty. Throws: as `task::Scheduler::run`.
  StepCount step(task::Ticks now, const Ask& ask);
  /// All stages of all cells, whatever their bins, which stay: for the start of a run, and for programs with one step
  /// for all particles.
  StepCount step_all(task::Ticks now, const Ask& ask);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plait::particles
