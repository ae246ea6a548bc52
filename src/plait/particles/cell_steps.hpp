// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/cells.hpp"
#include "plait/particles/halo.hpp"
#include "plait/particles/particles.hpp"
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
  /// What it makes that later stages read of neighbours: goes to the ranks that have copies and need them.
  std::vector<AnyField> refreshes;
  /// It moves particles, or changes how far they reach. Not for stages that read neighbours.
  bool moves = false;
};

/// What a step was.
struct StepCount {
  task::Ticks next = 0;                ///< When any particle of any rank is to be updated next.
  bool is_any = false;                 ///< Whether any rank has asked for something with `step`'s argument.
  std::uint64_t active_particles = 0;  ///< Of all ranks, that were updated.
  std::uint64_t active_here = 0;       ///< Of these, on this rank.
  std::uint32_t active_cells = 0;      ///< Here, as the following.
  std::uint32_t tasks = 0;
  std::uint32_t messages = 0;  ///< Sent.
  std::uint64_t bytes = 0;
};

/// What a rank asks of all after a step, given when something is to be done on this rank next.
using Ask = std::function<bool(task::Ticks next_here)>;

struct CellStepsOptions {
  Field<std::uint8_t> bin;  ///< The time bin of each particle (`task::TimeBin`).
  Field<float> reach;
  double reach_factor = 1;
  std::vector<CellStage> stages;
};

/// Steps of particles that each have a time step of their own: a graph of tasks on cells, made once, of which each step
/// activates what it concerns: the stages of active cells, and messages of cells whose copies are read elsewhere.
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
  CellSteps(CellSteps&&) = delete;
  CellSteps& operator=(CellSteps&&) = delete;
  ~CellSteps();

  /// Takes over the bins of all particles as they are after the step at `now`; returns the time of the next step.
  task::Ticks begin(task::Ticks now);
  /// The step at `now`, which was given as the next time. `ask` is what this rank asks of all: the same answer comes to
  /// all. Throws: as `task::Scheduler::run`.
  StepCount step(task::Ticks now, const Ask& ask);
  /// All stages of all cells, whatever their bins, which it leaves alone: for the begin of a run, and for programs with
  /// one step for all.
  StepCount step_all(task::Ticks now, const Ask& ask);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plait::particles
