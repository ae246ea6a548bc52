// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/domains/decompose.hpp"
#include "plait/particles/domains/domain.hpp"
#include "plait/particles/interaction.hpp"
#include "plait/particles/neighbours/neighbour_lists.hpp"
#include "plait/particles/neighbours/short_range.hpp"
#include "plait/particles/steps/integrator.hpp"
#include "plait/particles/steps/slow_force.hpp"
#include "plait/particles/steps/stage.hpp"
#include "plait/particles/steps/time_steps.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/particles/times.hpp"
#include "plait/particles/trees/long_range.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::particles {

/// The distribution of a system's particles over ranks, and its schedule.
struct SystemOptions {
  Space space;
  DomainGrid grid = {0, 0, 0};                     ///< The ranks along each axis; zeros: as near a cube as possible.
  std::uint32_t steps_between_decompositions = 4;  ///< 0 decomposes once, at the start; unused in cells.
  /// Between two builds of trees, particles stay on their ranks, trees keep their shape, and ranks exchange the same
  /// particles with new values. 1 builds trees in every step.
  std::uint32_t steps_between_trees = 1;
  DecompositionOptions decomposition;
  /// The domain boundaries of an earlier run on the same grid (`System::gather_cuts`). Empty: computed from particles.
  std::vector<double> cuts;
  /// An earlier run goes on from here. Each rank's store then has the particles of that rank after its last step, with
  /// all fields, in their order. Nothing is distributed at the start, `cuts` above are not used, and the steps are
  /// bitwise those of the unbroken run on the same ranks, at most two; without long-range forces, on any ranks.
  std::optional<SavedSteps> resumed;
  CellsOfSystem cells;  ///< For stages and individual time steps.
};

/// Processes the particles [first, last) of a store.
using RangeFunction = std::function<void(Particles& store, std::size_t first, std::size_t last)>;

/// The particles of a parallel program, their interactions and their motion; a step is one task graph.
///
/// With equal steps, a step calls the functions of `before` (such as a drift), sends particles that have left this
/// rank's domain to their owners, builds trees, sums all interactions, and calls the functions of `after` (such as a
/// kick). Periodically it decomposes the domain by measured cost.
///
/// With individual steps (`take_steps`) or stages, particles are in cells. A step drifts the cells that active
/// particles may read, runs stages and sums interactions for active particles, calls the functions of `after` for them,
/// ends their steps and begins new ones. A particle near one whose step is shorter than a quarter of its own is woken.
/// Ranks send each other only the cells that active particles read. When particles have moved too far, the next step
/// decomposes the domain and lists neighbours anew.
///
/// No worker waits for all ranks. All ranks create the same system and call the same functions in the same order.
/// Threads: one at a time.
class System {
 public:
  /// Borrows `messages`, `scheduler` and `store`. `store` has any part of all particles; the first step sends them to
  /// their ranks. Throws: `Error` with `bad_argument` if the grid does not fit the ranks, or an option is invalid.
  System(comm::Endpoint& messages, task::Scheduler& scheduler, Particles& store, const SystemOptions& options = {});
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  ~System();

  // The parts of a step, to be added before the first.

  /// Adds the motion of particles: half a kick and the drift before all sums, half a kick after them. With equal steps
  /// the functions of `before` and `after` that were added earlier are called earlier. Throws: `Error` with
  /// `bad_argument` if the system has an integrator.
  void integrate(Integrator integrator);
  /// Sets the lengths of steps. Adds fields to the store unless they are fixed, or the program has added `fields`.
  void take_steps(const TimeSteps& steps, const std::optional<StepFields>& fields = {});
  /// Adds a criterion for steps that are not fixed: the shortest of all counts.
  void limit_steps_by(StepCriterion criterion);

  LongRange& add_long_range(LongRangeOptions options);
  /// Any worker calls `kernel`, concurrently for different blocks. `results` are the fields to which it adds; all bytes
  /// zero must mean zero.
  Interaction& add_short_range(ShortRangeOptions search, std::vector<AnyField> results, ShortRangeKernel kernel);
  /// Each step finds neighbours. Throws: as `make_neighbour_lists`.
  NeighbourLists& add_neighbour_lists(NeighbourOptions options);
  /// Adds a force with steps of its own: `TimeSteps::step_max`, rounded down as steps are. One a system, with
  /// individual steps or stages only. Throws: `Error` with `bad_argument` for a second one, or one without a sum, a
  /// kick or their fields; in the first step, for other steps, a result that another interaction has, and predictions
  /// without it.
  Interaction& add_slow_force(SlowForce force);
  /// Not with individual steps and stages. Throws: `Error` with `bad_argument` in the first step then.
  Interaction& add(std::unique_ptr<Interaction> interaction);
  /// Adds a stage: a part of a step that begins on a cell when the stages before have ended near it. Then particles are
  /// in cells, and steps are not fixed. Long-range interactions are summed meanwhile.
  void add_stage(Stage stage);
  /// Adds a stage that sums over neighbours, like `add_short_range`: later stages read its results.
  void add_pair_stage(std::string kind,
                      ShortRangeOptions search,
                      std::vector<AnyField> results,
                      ShortRangeKernel kernel);
  /// Several workers call `function` on parts of the particles, after the functions added earlier. `kind` names the
  /// tasks.
  void before(std::string kind, RangeFunction function);
  void after(std::string kind, RangeFunction function);
  /// One worker calls `function` when all sums are complete, before the functions of `after`.
  void when_summed(std::function<void()> function);

  /// Records each step in the trace (`StepRecord`). Borrows `recorder`.
  void record_to(trace::Recorder& recorder);

  /// Sums all interactions at the present positions. If criteria choose equal steps, it calls the functions of `after`,
  /// too. In cells, the first call begins all steps, and later ones are
  /// `synchronise`. Throws: as `task::Scheduler::run`; `Error` with `bad_argument` for parts that do not fit together.
  void update();
  /// Advances to the next time at which a particle's step ends. Throws: as `update`; `Error` with `bad_input` for a
  /// particle that needs a shorter step than is allowed.
  StepResult step();
  /// Steps until `time` is reached or the run is over.
  void run_until(double time);
  /// Drifts all particles to the present, with predictions, and computes long-range potentials and the results of a
  /// slow force that are not among its `forces`. Between steps of different lengths, velocities are those of each
  /// particle's last kick.
  void synchronise();
  /// Returns where a run can go on from (`SystemOptions::resumed`). In cells, particles are synchronised first. The
  /// next step makes cells or builds trees, as in the run that goes on. Collective. Throws: as `update`.
  [[nodiscard]] SavedSteps save_steps();
  [[nodiscard]] double time() const;
  /// Whether the end of `TimeSteps` is reached.
  [[nodiscard]] bool is_over() const;
  /// The state of each particle's step. Expects: steps are not fixed.
  [[nodiscard]] const StepFields& step_fields() const;
  /// Lets the next step list neighbours anew, on all ranks: for a stage that needs sources beyond
  /// `StageWork::reach_max`. Threads: any.
  void list_neighbours_anew() noexcept;

  /// Sets the time of the space's shear, for the positions that the next update or step sums at: after its drift. All
  /// ranks give the same. Images slide between two builds of trees, too; the error of received trees then grows as if
  /// particles moved as fast as images. Throws: `Error` with `bad_argument` if it is not finite.
  void set_time(double time);
  /// The space at this time.
  [[nodiscard]] const Space& space() const noexcept;

  /// Lets the next step build trees. All ranks call it after particles were added to any store, or removed, if
  /// `SystemOptions::steps_between_trees` is not 1. New particles travel to their owners over some steps, with the
  /// right forces on the way; `distribute` sends them at once.
  void particles_changed() noexcept;

  /// Decomposes the domain and sends all particles, from anywhere, to their owners. The first step or update calls it.
  void distribute();

  [[nodiscard]] const Domain& domain() const noexcept;
  /// Returns all domain boundaries, for files and pictures, equal on all ranks. Collective. Cost: O(ranks).
  [[nodiscard]] std::vector<double> gather_cuts();
  /// This rank's costs since the last call.
  [[nodiscard]] StepTimes take_times();

 private:
  struct State;
  template <class Work>
  auto guarded(Work work);

  std::shared_ptr<State> state_;
};

}  // namespace plait::particles
