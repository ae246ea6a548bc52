// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/detail/cell_driver.hpp"

#include <algorithm>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/particles/steps/detail/field_lists.hpp"

namespace plait::particles::detail {
namespace {

using task::Task;
using task::TaskContext;
using task::Ticks;

constexpr std::uint32_t first_tries_max = 40;
constexpr float memory_of_costs = 0.5F;

constexpr const char* drift_name = "drift";
constexpr const char* end_name = "end steps";

/// Throws: as the constructor of `CellDriver`.
StepPlan checked(StepPlan plan) {
  if (!plan.integrator.drift || !plan.integrator.kick) {
    throw Error{ErrorCode::bad_argument,
                "individual time steps and stages need an integrator: call System::integrate before the first step"};
  }
  const bool reads = std::ranges::any_of(plan.stages, [](const Stage& stage) { return stage.reads_neighbours; });
  if (reads && !plan.cells.reach) {
    throw Error{ErrorCode::bad_argument,
                "a stage reads neighbours, but no reach is known: set SystemOptions::cells.reach"};
  }
  return plan;
}

}  // namespace

CellDriver::CellDriver(const DriverPlace& place, StepPlan plan, const StepFields& fields)
    : place_{place},
      plan_{checked(std::move(plan))},
      reach_{plan_.cells.reach ? *plan_.cells.reach : place.store.add_field<float>("no reach")},
      all_{place.messages},
      ghosts_{place.store.make_like()},
      table_{place.store, ghosts_, place.space.period()},
      motion_{table_, plan_, fields, reach_, place.scheduler.worker_count()} {
  place.space.check();
}

// ---- the run ----

/// Initial reaches may be guesses: lists neighbours anew until no stage needs longer lists.
void CellDriver::start() {
  run_task("begin", [this] { motion_.begin(now_); });
  bool again = true;
  for (std::uint32_t tries = 0; again && tries < first_tries_max; ++tries) {
    make_cells();
    again = steps_->step_all(now_, [this](Ticks) { return is_cramped_.exchange(false); }, Parts::stages).is_any;
  }
  if (again) {
    throw Error{ErrorCode::bad_input,
                "reaches of particles do not converge: are they far too short? Give better guesses in the input"};
  }
  sum_forces();
  motion_.set_ends(Ends::steps);
  (void)steps_->step_all(now_, {}, Parts::stages);
  next_ = steps_->begin(now_);
  has_started_ = true;
}

void CellDriver::resume(const SavedSteps& saved) {
  if (saved.slow != motion_.slow().saved()) {
    throw Error{ErrorCode::bad_argument,
                "a run goes on with other steps of its slow force than it had, and one of them is half done: give "
                "System::take_steps the step_max of the earlier run"};
  }
  now_ = saved.now;
  motion_.set_ends(Ends::steps);
  has_started_ = true;
  must_make_cells_ = true;
}

void CellDriver::save(SavedSteps& saved) {
  synchronise();
  must_make_cells_ = true;
  saved.now = now_;
  saved.slow = motion_.slow().saved();
}

/// Throws: `Error` with `bad_argument` if particles were added to this rank, or removed, since cells were made.
void CellDriver::check_unchanged() const {
  if (steps_ == nullptr || place_.store.size() == size_noted_) {
    return;
  }
  const Error error{ErrorCode::bad_argument,
                    "particles were added or removed between individual steps or stages: create a new system for them"};
  place_.messages.stop_all(error);  // the others wait for this one
  throw error;
}

StepResult CellDriver::step() {
  check_unchanged();
  StepResult result;
  const Ticks before = now_;
  if (must_make_cells_) {
    make_cells();
    next_ = steps_->begin(now_);
    result.made_cells = true;
  }
  now_ = std::min(next_, task::line_ticks);
  const StepCount count = steps_->step(now_, [this](Ticks next) { return wants_cells(next); });
  next_ = count.next;
  must_make_cells_ = count.is_any;
  result.time = time();
  result.step = motion_.clock().line().duration(now_ - before);
  result.updated = count.active_particles;
  result.updated_here = count.active_here;
  return result;
}

/// The next update of a rank without particles is after the end.
bool CellDriver::wants_cells(Ticks next) {
  const auto has_grown = [this](const Interaction* forces) { return forces->growth() > plan_.cells.tree_growth_max; };
  return is_cramped_.exchange(false) || motion_.has_outgrown(std::min(next, task::line_ticks)) ||
         std::ranges::any_of(plan_.forces, has_grown);
}

void CellDriver::synchronise() {
  check_unchanged();
  drift_all();
  if (!has_forces() || steps_ == nullptr) {
    return;
  }
  // Forces belong to the steps that particles have begun.
  const auto count = static_cast<Particles::Index>(place_.store.size());
  std::vector<AnyField> kept = plan_.integrator.forces;
  for (const AnyField& field : plan_.slow.forces) {
    if (!has_field(kept, field)) {
      kept.push_back(field);
    }
  }
  Bytes before;
  place_.store.pack(kept, 0, count, before);
  sum_forces();
  place_.store.unpack(kept, 0, count, before);
}

void CellDriver::drift_all() {
  run_task(drift_name, [this] { motion_.drift_all(now_); });
}

/// Runs `work` as a task, so that its error ends the run on every rank.
void CellDriver::run_task(const char* name, std::function<void()> work) {
  task::Graph graph;
  graph.task(name, std::move(work));
  place_.scheduler.run(graph);
}

/// Sums long-range forces on all particles.
void CellDriver::sum_forces() {
  if (has_forces()) {
    (void)steps_->step_all(now_, {}, Parts::forces);
  }
}

// ---- cells ----

void CellDriver::make_cells() {
  drift_all();
  distribute();
  steps_.reset();
  run_task("make cells", [this] { divide(); });
  halo_ = make_halo(place_.messages,
                    table_,
                    {.growth = plan_.cells.listed_growth},
                    {.reach = reach_,
                     .reach_factor = plan_.cells.reach_factor,
                     .travel = fields_of_ghosts(plan_, motion_.fields(), reach_)},
                    place_.domain.grid());
  motion_.note_cells(now_);
  steps_ = std::make_unique<CellSteps>(place_.messages,
                                       place_.scheduler,
                                       table_,
                                       halo_,
                                       CellStepsOptions{.bin = motion_.fields().bin,
                                                        .reach = reach_,
                                                        .reach_factor = plan_.cells.reach_factor,
                                                        .stages = stages(),
                                                        .forces = forces()});
  must_make_cells_ = false;
  size_noted_ = place_.store.size();
}

/// Divides the domain by how often particles were updated lately, and sends them to their owners. As tasks, so that an
/// error ends the run on every rank.
void CellDriver::distribute() {
  task::Graph graph;
  const task::TaskKind cutting = graph.kind("cut domains");
  const task::TaskKind moving = graph.kind("exchange particles");
  Task choose = graph.task("choose samples", [this] { place_.decomposition.choose(place_.store); });
  Task cut = graph.task("cut domains", [this, cutting](TaskContext& context) {
    context.wait_for(cutting, place_.decomposition.cut(place_.domain));
  });
  Task move = graph.task("exchange particles", [this, moving](TaskContext& context) {
    place_.exchange.search(place_.domain);
    context.wait_for(moving, place_.exchange.move(Travel::everywhere));
  });
  cut.after(choose);
  move.after(cut);
  place_.scheduler.run(graph);
  place_.exchange.finish();
  for (float& cost : place_.store[Particles::cost]) {
    cost *= memory_of_costs;
  }
}

void CellDriver::divide() {
  place_.space.wrap(place_.store, 0, place_.store.size());
  std::vector<Particles::Index> order;
  CellOptions sizes = plan_.cells.sizes;
  sizes.ordered_particles_max = plan_.forces.empty() ? 0 : plan_.cells.tree_particles;
  const CellSizes cells = divide_into_cells(place_.store, sizes, order);
  place_.store.reorder(order);
  table_.assign(cells);
  for (std::uint32_t cell = 0; cell < table_.own_count(); ++cell) {
    table_.refresh(cell, reach_, plan_.cells.reach_factor);
  }
}

// ---- stages ----

/// A drift, the declared stages, the ends of steps, and the begins of the next.
std::vector<CellStage> CellDriver::stages() {
  std::vector<CellStage> all;
  all.push_back({.name = drift_name,
                 .who = Who::near_active,
                 .work = [this](const CellWork& work) { motion_.drift(work); },
                 .refreshes = fields_after_drift(plan_, motion_.fields(), reach_),
                 .moves = true});
  for (std::size_t number = 0; number < plan_.stages.size(); ++number) {
    all.push_back(stage_of(plan_.stages[number], number));
    if (all.back().moves) {  // while neighbours read a cell, its extent must not change
      CellStage done{.name = plan_.stages[number].name + " done",
                     .work = [](const CellWork&) {},
                     .refreshes = std::exchange(all.back().refreshes, {}),
                     .moves = true};
      all.back().moves = false;
      all.push_back(std::move(done));
    }
  }
  all.push_back(ending_stage());
  all.push_back(beginning_stage());
  return all;
}

CellStage CellDriver::stage_of(const Stage& stage, std::size_t number) {
  const auto work = [this, &stage](const CellWork& cell) {
    stage.work({.context = cell.context,
                .table = table_,
                .cell = cell.cell,
                .targets = motion_.find_active(cell, stage.kinds),
                .reach_max = motion_.reach_max(cell.cell)});
  };
  return {.name = stage.name,
          .reads_neighbours = stage.reads_neighbours,
          .work = work,
          .refreshes = fields_after_stage(plan_, number),
          .moves = has_field(stage.writes, reach_)};
}

CellStage CellDriver::ending_stage() {
  CellStage stage{.name = end_name, .work = [this](const CellWork& work) { motion_.end_steps(work); }};
  if (is_limited()) {
    stage.refreshes = {Particles::position, reach_, motion_.fields().bin_seen};
  }
  return stage;
}

CellStage CellDriver::beginning_stage() {
  CellStage stage{.name = "begin steps", .who = Who::near_active, .reads_neighbours = is_limited()};
  if (plan_.steps.lengths == StepLengths::individual) {
    stage.work = [this](const CellWork& work) { motion_.begin_steps(work); };
    return stage;
  }
  stage.agree = [this] {
    shortest_ = motion_.shortest_bin();
    return comm::all_reduce(all_, std::span{&shortest_, 1}, comm::Minimum{});
  };
  stage.work = [this](const CellWork& work) { motion_.begin_equal_steps(work, shortest_); };
  return stage;
}

std::vector<CellForces> CellDriver::forces() {
  CellForces each{.interactions = plan_.forces,
                  .space = place_.space,
                  .grid = place_.domain.grid(),
                  .drift_duration = [this](Ticks from, Ticks to) { return motion_.clock().drift(from, to); },
                  .velocity = plan_.integrator.velocity,
                  .drifted = [this](std::uint32_t cell) { return motion_.drifted(cell); },
                  .after = drift_name,
                  .before = end_name};
  std::vector<CellForces> all;
  if (motion_.slow().are_any()) {
    all.push_back(each);
    all.back().interactions = {plan_.slow.sum};
    all.back().every = motion_.slow().bin();
  }
  if (!plan_.forces.empty()) {
    all.push_back(std::move(each));
  }
  return all;
}

}  // namespace plait::particles::detail
