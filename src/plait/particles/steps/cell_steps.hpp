// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/comm/request.hpp"
#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/neighbours/halo.hpp"
#include "plait/particles/steps/cell_forces.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/task/time_bins.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles {

/// The cells that take part in a stage.
enum class Who : std::uint8_t {
  active,       ///< Cells with a particle whose step ends now.
  near_active,  ///< Active cells and their neighbours, for fields that active particles read at the present time.
};

/// The arguments of a stage's function.
struct CellWork {
  task::TaskContext& context;
  std::uint32_t cell;
  task::Ticks now;
};

/// One stage of a step: a function that runs on each cell that takes part.
///
/// A stage that reads neighbours must write to its own cell only, and no field that it reads of other cells, so that
/// all cells may run concurrently.
struct CellStage {
  std::string name;  ///< The kind of its tasks in traces.
  Who who = Who::active;
  bool reads_neighbours = false;
  std::function<void(const CellWork&)> work;
  /// The fields that it writes and that later stages read of neighbours; sent to ranks with ghosts.
  std::vector<AnyField> refreshes;
  /// The stage changes positions or reaches. Not for stages that read neighbours.
  bool moves = false;
  /// Begins an operation of all ranks, such as a reduction, that is complete before the stage begins on any cell. It
  /// begins when the stages before have ended on all cells. May be empty; not for the first stage.
  std::function<comm::Request()> agree = {};
};

/// The result of a step.
struct StepCount {
  task::Ticks next = 0;                ///< The time of the next step, on all ranks.
  bool is_any = false;                 ///< Whether `Ask` returned true on any rank.
  std::uint64_t active_particles = 0;  ///< Of all ranks.
  std::uint64_t active_here = 0;       ///< Of this rank, as the following.
  std::uint32_t active_cells = 0;
  std::uint32_t tasks = 0;
  std::uint32_t messages = 0;  ///< Sent.
  std::uint64_t bytes = 0;     ///< Sent.
};

/// Called at the end of a step, by any worker, with the time of this rank's next update. The results of all ranks are
/// combined by "or".
using Ask = std::function<bool(task::Ticks next_here)>;

struct CellStepsOptions {
  Field<std::uint8_t> bin;  ///< The time bin of each particle (`task::TimeBin`).
  Field<float> reach;
  double reach_factor = 1;
  std::vector<CellStage> stages;
  std::vector<CellForces> forces = {};  ///< Ranks exchange for all alike.
};

/// The parts of a step for all particles.
enum class Parts : std::uint8_t { all, stages, forces };

/// Steps of particles with individual time steps. The task graph is built once; each step activates the stages of
/// active cells, and the messages for ghosts that are read. The graph ends with one message to each near rank, which
/// has the new bins of cells, and one reduction, which finds the time of the next step.
///
/// A particle is active when the step of its bin ends (`task::is_active`), a cell when any of its particles is. Stages
/// choose new bins of active particles, and may move other particles to shorter bins. Borrows the table, whose halo and
/// neighbours must not change. All functions are collective. Threads: one at a time.
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

  /// Reads the bins of all particles after the step at `now`; returns the time of the next step.
  task::Ticks begin(task::Ticks now);
  /// Runs the step at `now`, the time that was returned as next. `ask` may be empty. Throws: as `task::Scheduler::run`.
  StepCount step(task::Ticks now, const Ask& ask);
  /// Runs all stages on all cells and sums forces on all particles, or one of both, and leaves bins unchanged: for the
  /// start of a run, and for global time steps. Ranks exchange what forces need.
  StepCount step_all(task::Ticks now, const Ask& ask, Parts parts = Parts::all);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plait::particles
