// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/steps/cell_steps.hpp"
#include "plait/particles/steps/detail/slow_steps.hpp"
#include "plait/particles/steps/detail/step_clock.hpp"
#include "plait/particles/steps/detail/step_plan.hpp"
#include "plait/particles/steps/step_limiter.hpp"
#include "plait/particles/steps/time_steps.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles::detail {

/// Whether a step begins new steps of particles, or only sums.
enum class Ends : std::uint8_t { none, steps };

/// The motion of the particles of each cell: drifts, the ends and begins of their steps, and the bounds of where cells
/// are. The functions for one cell are those of stages. Threads: these run concurrently for different cells; the others
/// one at a time, while no step runs.
class CellMotion {
 public:
  /// Borrows all but the fields.
  CellMotion(
      CellTable& table, const StepPlan& plan, const StepFields& fields, Field<float> reach, std::uint32_t workers);
  CellMotion(const CellMotion&) = delete;
  CellMotion& operator=(const CellMotion&) = delete;

  [[nodiscard]] const StepClock& clock() const noexcept { return clock_; }
  [[nodiscard]] const SlowSteps& slow() const noexcept { return slow_; }
  [[nodiscard]] const StepFields& fields() const noexcept { return fields_; }

  /// Puts all particles at the start of the longest step.
  void begin(task::Ticks now);
  /// Notes where the new cells are.
  void note_cells(task::Ticks now);
  void drift_all(task::Ticks now);
  [[nodiscard]] task::Ticks drifted(std::uint32_t cell) const { return cells_[cell].drifted; }
  /// Whether a cell may have outgrown its list of neighbours by `next`.
  [[nodiscard]] bool has_outgrown(task::Ticks next) const;
  /// See `StageWork::reach_max`.
  [[nodiscard]] double reach_max(std::uint32_t cell) const;

  /// Sets which particles are active: all until the first steps begin.
  void set_ends(Ends ends) noexcept { ends_ = ends; }
  /// Finds the active particles of a cell; valid until this worker's next call.
  [[nodiscard]] std::span<const Particles::Index> find_active(const CellWork& work, const Kinds& kinds);

  void drift(const CellWork& work);
  /// Kicks active particles to the present, and chooses their next steps.
  void end_steps(const CellWork& work);
  /// Wakes particles near to much shorter steps, and kicks those whose steps begin.
  void begin_steps(const CellWork& work);
  /// The shortest bin of all own particles.
  [[nodiscard]] std::uint8_t shortest_bin() const;
  /// Gives the particles of a cell equal steps, and kicks them.
  void begin_equal_steps(const CellWork& work, std::uint8_t bin);

 private:
  /// A cell as it was when neighbours were listed, and bounds of where it is now.
  struct State {
    Extent made;
    task::Ticks drifted = 0;
    double speed_max = 0;
  };
  /// The memory of a worker, for reuse.
  struct Worker {
    std::vector<Particles::Index> active;
    std::vector<Kick> kicks;
    SlowSteps::Memory slow;
    std::vector<double> longest;
    DurationMemory durations;
    StepLimiter::Buffers limiter;
  };

  /// At the end of the run, velocities remain those of the last kick.
  [[nodiscard]] bool begins_steps(task::Ticks now) const { return ends_ == Ends::steps && now < task::line_ticks; }
  [[nodiscard]] double speed_max(const Cell& cell) const;
  /// Drifts the particles [first, last) from one time to another, and predicts. Returns whether they moved.
  bool drift(std::size_t first, std::size_t last, task::Ticks from, task::Ticks to, Worker& worker);
  void finish_forces(std::span<const Particles::Index> active) const;
  void choose_bins(std::span<const Particles::Index> active, task::Ticks now, Worker& worker);
  void wake(Particles::Index place, task::TimeBin bin, task::Ticks now);
  [[nodiscard]] Worker& worker_of(const CellWork& work) { return workers_[work.context.worker().value()]; }

  CellTable& table_;
  Particles& store_;
  const StepPlan& plan_;
  const StepFields fields_;
  const Field<float> reach_;
  const task::TimeLine line_;
  const StepClock clock_;
  const SlowSteps slow_;
  const double shortest_step_;
  const StepLimiter limiter_;
  Ends ends_ = Ends::none;
  std::vector<State> cells_;
  std::vector<Worker> workers_;
};

}  // namespace plait::particles::detail
