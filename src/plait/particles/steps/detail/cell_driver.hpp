// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/neighbours/halo.hpp"
#include "plait/particles/steps/cell_steps.hpp"
#include "plait/particles/steps/detail/cell_motion.hpp"
#include "plait/particles/steps/detail/driver_place.hpp"
#include "plait/particles/steps/detail/step_plan.hpp"
#include "plait/particles/steps/time_steps.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles::detail {

/// Steps of a system whose particles are in cells: makes cells and lists neighbours when it must, and runs `CellSteps`
/// with the declared stages between a drift and the ends and begins of steps. All functions are collective. Threads:
/// one at a time, except for `list_neighbours_anew`.
class CellDriver {
 public:
  /// Borrows what the place has. Throws: `Error` with `bad_argument` for a plan without an integrator, or whose stages
  /// read neighbours without a reach.
  CellDriver(const DriverPlace& place, StepPlan plan, const StepFields& fields);
  CellDriver(const CellDriver&) = delete;
  CellDriver& operator=(const CellDriver&) = delete;

  /// Computes the first sums, and begins the first steps. Called once.
  /// Throws: as `Scheduler::run`; `Error` with `bad_input` if stages want longer lists again and again.
  void start();
  /// Goes on from there in the place of `start`. Particles have all fields of that time. Throws: `Error` with
  /// `bad_argument` if the slow force had other steps.
  void resume(const SavedSteps& saved);
  /// Synchronises, and lets the next step make cells, as in a run that goes on from here.
  void save(SavedSteps& saved);
  /// Advances to the next time at which a particle's step ends.
  StepResult step();
  /// Drifts all particles to the present, and sums long-range and slow forces for their potentials. Forces remain.
  void synchronise();

  [[nodiscard]] bool has_started() const noexcept { return has_started_; }
  [[nodiscard]] bool is_over() const noexcept { return now_ >= task::line_ticks; }
  [[nodiscard]] double time() const noexcept { return motion_.clock().line().time_at(now_); }
  /// See `System::list_neighbours_anew`. Threads: any.
  void list_neighbours_anew() noexcept { is_cramped_.store(true, std::memory_order_relaxed); }  // read after tasks

 private:
  void make_cells();
  void drift_all();
  void run_task(const char* name, std::function<void()> work);
  void divide();
  void distribute();
  void sum_forces();
  void check_unchanged() const;
  [[nodiscard]] std::vector<CellStage> stages();
  [[nodiscard]] CellStage stage_of(const Stage& stage, std::size_t number);
  [[nodiscard]] CellStage ending_stage();
  [[nodiscard]] CellStage beginning_stage();
  [[nodiscard]] std::vector<CellForces> forces();
  [[nodiscard]] bool wants_cells(task::Ticks next);
  /// Whether steps of neighbours are limited, for which they read each other's.
  [[nodiscard]] bool is_limited() const { return plan_.cells.reach && plan_.steps.lengths == StepLengths::individual; }

  [[nodiscard]] bool has_forces() const noexcept { return !plan_.forces.empty() || motion_.slow().are_any(); }

  const DriverPlace place_;
  const StepPlan plan_;
  const Field<float> reach_;
  comm::Group all_;
  Particles ghosts_;
  CellTable table_;
  CellMotion motion_;
  Halo halo_;
  std::unique_ptr<CellSteps> steps_;
  task::Ticks now_ = 0;
  task::Ticks next_ = 0;
  std::uint8_t shortest_ = 0;  ///< The bin of equal steps.
  bool has_started_ = false;
  std::size_t size_noted_ = 0;            ///< Of the store with the present cells.
  bool must_make_cells_ = false;          ///< Agreed by all ranks: new cells before the next step.
  std::atomic<bool> is_cramped_ = false;  ///< A stage needs longer lists of neighbours.
};

}  // namespace plait::particles::detail
