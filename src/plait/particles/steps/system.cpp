// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/system.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/particles/domains/exchange.hpp"
#include "plait/particles/neighbours/short_range_sums.hpp"
#include "plait/particles/steps/detail/cell_driver.hpp"
#include "plait/particles/steps/detail/equal_steps.hpp"
#include "plait/particles/steps/detail/field_lists.hpp"
#include "plait/particles/steps/detail/pair_stage.hpp"
#include "plait/particles/steps/detail/step_plan.hpp"
#include "plait/particles/steps/detail/tree_driver.hpp"
#include "plait/particles/steps/step_record.hpp"

namespace plait::particles {

namespace {

constexpr const char* parts_come_first = "the parts of a system are added before its first step";

DomainGrid grid_of(const SystemOptions& options, std::uint32_t ranks) {
  return options.grid.ranks() == 0 ? cubic_grid(ranks) : options.grid;
}

Domain domain_of(const SystemOptions& options, const comm::Endpoint& messages) {
  const DomainGrid grid = grid_of(options, messages.rank_count());
  const std::vector<double>& cuts = options.resumed ? options.resumed->cuts : options.cuts;
  return cuts.empty() ? Domain{grid, messages.self()} : Domain{grid, messages.self(), cuts};
}

/// Throws: `Error` with `bad_argument` if a run goes on with other steps than it had.
void check_resumed(const SavedSteps& saved, const TimeSteps& steps) {
  const bool has_line = steps.lengths != StepLengths::fixed;
  if (saved.lengths != steps.lengths || (has_line && (saved.begin != steps.begin || saved.end != steps.end))) {
    throw Error{ErrorCode::bad_argument,
                "a run goes on with other steps than it had: give System::take_steps the lengths, begin and end of "
                "SystemOptions::resumed"};
  }
}

/// Throws: `Error` with `bad_argument` if a part of a slow force is missing.
void check_slow(const SlowForce& force) {
  const auto is_result = [&](const AnyField& field) { return detail::has_field(force.results, field); };
  if (force.sum == nullptr || !force.kick || force.forces.empty() || !std::ranges::all_of(force.forces, is_result)) {
    throw Error{ErrorCode::bad_argument,
                "a slow force lacks a part: give SlowForce::sum, kick, all results, and as forces those of them that "
                "the kick reads"};
  }
}

}  // namespace

/// Shared with the endpoint after a failed run, as messages may still be in flight.
struct System::State {
  detail::Hooks hooks_;
  detail::StepPlan plan_;
  std::optional<StepFields> step_fields_;
  bool has_new_step_fields_ = false;  ///< They have no values of an earlier run.
  bool has_stages_ = false;
  bool reaches_differ_ = false;    ///< Of short-range sums, in their fields.
  std::vector<AnyField> results_;  ///< Of long-range and short-range sums.
  bool has_integrator_ = false;
  std::optional<StepRecord> record_;
  const Tree* tree_ = nullptr;  ///< Of the last interaction that has one.

  State(comm::Endpoint& messages, task::Scheduler& scheduler, Particles& store, const SystemOptions& options)
      : store_{store},
        messages_{messages},
        scheduler_{scheduler},
        options_{options},
        space_{options.space},
        steps_{steps_before()},
        domain_{domain_of(options, messages)},
        decomposition_{messages, options.space, domain_.grid(), options.decomposition},
        exchange_{messages, space_, store},
        is_distributed_{options.resumed.has_value()} {
    plan_.cells = options.cells;
    if (options_.steps_between_trees == 0) {
      throw Error{ErrorCode::bad_argument,
                  "steps_between_trees is 0: set it to 1 to build trees in every step, or to a larger number"};
    }
  }

  [[nodiscard]] std::uint64_t steps_before() const { return options_.resumed ? options_.resumed->count : 0; }
  [[nodiscard]] bool is_parallel() const { return messages_.rank_count() > 1; }

  void distribute() {
    is_distributed_ = true;
    if (!is_parallel()) {
      return;
    }
    try {
      if (!domain_.is_cut()) {
        decomposition_.choose(store_);
        decomposition_.cut(domain_).wait();
      }
      exchange_.search(domain_);
      exchange_.move(Travel::everywhere).wait();
      exchange_.finish();
    } catch (const Error& error) {
      messages_.stop_all(error);  // the others wait for this one
      throw;
    }
  }

  [[nodiscard]] detail::DriverPlace place() {
    return {messages_, scheduler_, store_, space_, decomposition_, domain_, exchange_};
  }

  /// Decides by the declared parts how particles step. Throws: `Error` with `bad_argument` if parts do not fit.
  void prepare() {
    if (has_begun()) {
      return;
    }
    if (options_.resumed) {
      check_resumed(*options_.resumed, plan_.steps);
    }
    if (!has_integrator_ && plan_.steps.lengths == StepLengths::equal) {
      throw Error{ErrorCode::bad_argument,
                  "equal steps need an integrator: call System::integrate before the first step"};
    }
    if (plan_.steps.lengths == StepLengths::individual || has_stages_) {
      prepare_cells();
      return;
    }
    if (plan_.slow.sum != nullptr) {
      throw Error{ErrorCode::bad_argument,
                  "a slow force needs individual time steps: call System::take_steps, or add the interaction by "
                  "System::add"};
    }
    if (has_integrator_) {
      equal_.emplace(messages_, plan_.integrator, plan_.steps, plan_.criteria, scheduler_.worker_count());
      if (options_.resumed) {
        equal_->resume(*options_.resumed);
      }
    }
    trees_.emplace(place(), options_, detail::TreeDriver::Parts{hooks_, interactions_, equal_ ? &*equal_ : nullptr});
  }

  [[noreturn]] static void refuse_in_cells(const char* what, const char* instead) {
    throw Error{ErrorCode::bad_argument, fmt::format("{} not with individual time steps or stages: {}", what, instead)};
  }

  /// In cells, each sum clears its own results, and all sums find neighbours by one reach.
  void check_sums_in_cells() const {
    for (auto field = results_.begin(); field != results_.end(); ++field) {
      if (std::any_of(results_.begin(), field, [&](const AnyField& other) { return other.column == field->column; })) {
        refuse_in_cells("several interactions with one result are",
                        "give each a field of its own, and add them in a function of after");
      }
    }
    if (reaches_differ_) {
      refuse_in_cells("short-range sums with different fields of reach are",
                      "set SystemOptions::cells.reach to a field with the largest of each particle");
    }
  }

  void prepare_cells() {
    if (plan_.steps.lengths == StepLengths::fixed) {
      refuse_in_cells("fixed steps are", "take equal ones with a step_max");
    }
    if (space_.has_shear()) {
      refuse_in_cells("a shear is", "take equal steps without stages, or a space without shear");
    }
    if (!std::ranges::all_of(interactions_, &detail::SystemInteraction::sums_in_cells)) {
      refuse_in_cells("neighbour lists and a program's own interactions are", "use long-range ones and stages");
    }
    const bool has_before = !std::ranges::all_of(hooks_.before, &detail::Hook::is_of_integrator);
    if (has_before || !hooks_.when_summed.empty()) {
      refuse_in_cells("functions of before and when_summed are", "add a stage");
    }
    check_sums_in_cells();
    if (plan_.slow.sum != nullptr && !plan_.integrator.predicted.empty() && !plan_.slow.predict) {
      throw Error{
          ErrorCode::bad_argument,
          "the integrator predicts fields without the slow force: give SlowForce::predict, a function that does "
          "nothing if they do not depend on it"};
    }
    if (options_.resumed && has_new_step_fields_) {
      throw Error{ErrorCode::bad_argument,
                  "a run goes on without the fields of its steps: restore StepFields, and give them to "
                  "System::take_steps"};
    }
    for (const detail::Hook& hook : hooks_.after) {
      if (!hook.is_of_integrator) {
        plan_.after.push_back(hook.function);
      }
    }
    cells_.emplace(place(), plan_, *step_fields_);
    if (options_.resumed) {
      cells_->resume(*options_.resumed);
    }
  }

  /// Runs `work` and adds its time to that of all steps.
  template <class Work>
  nanoseconds timed(Work work) {
    scheduler_.reset_worker_times();
    const auto start = std::chrono::steady_clock::now();
    work();
    const nanoseconds took = std::chrono::steady_clock::now() - start;
    times_.wall += took;
    for (const task::WorkerTimes& times : scheduler_.worker_times()) {
      times_.idle += times.total - times.busy;
    }
    return took;
  }

  void update() {
    prepare();
    if (trees_) {
      (void)run_trees(false);
    } else {
      (void)timed([this] { cells_->has_started() ? cells_->synchronise() : cells_->start(); });
    }
  }

  StepResult step() {
    prepare();
    StepResult result{.updated_here = store_.size()};
    if (cells_) {
      if (!cells_->has_started()) {
        update();
      }
      const nanoseconds took = timed([&] { result = cells_->step(); });
      end_step(result, took);
      return result;
    }
    if (equal_ && equal_->are_chosen() && equal_->length() == 0) {
      update();
    }
    result.step = equal_ ? equal_->length() : 0;
    const nanoseconds took = run_trees(true);
    result.updated_here = store_.size();
    end_step(result, took);
    result.time = equal_ ? equal_->time() : time_before();
    return result;
  }

  SavedSteps save() {
    prepare();
    if (cells_ && !cells_->has_started()) {
      update();
    }
    if (trees_ && !is_distributed_) {
      distribute();
    }
    SavedSteps saved{.lengths = plan_.steps.lengths, .begin = plan_.steps.begin, .end = plan_.steps.end};
    saved.count = steps_;
    if (cells_) {
      (void)timed([&] { cells_->save(saved); });
    }
    if (trees_) {
      trees_->prepare_resumption();
    }
    if (equal_) {
      equal_->save(saved);
    }
    saved.cuts = gather_cuts();
    return saved;
  }

  [[nodiscard]] std::vector<double> gather_cuts() {
    const Box mine = domain_.box();
    std::vector<Box> boxes(messages_.rank_count());
    comm::all_gather(comm::Group{messages_}, std::span<const Box>{&mine, 1}, std::span{boxes}).wait();
    return all_cuts(domain_.grid(), boxes);
  }

  void end_step(const StepResult& result, nanoseconds took) {
    note_step(result.updated_here, took);
    ++steps_;
    ++times_.steps;
  }

  nanoseconds run_trees(bool is_step) {
    if (!is_distributed_) {
      distribute();
    }
    return timed([&] { trees_->run(is_step); });
  }

  [[nodiscard]] bool has_begun() const { return trees_ || cells_; }
  /// The time before the first step.
  [[nodiscard]] double time_before() const {
    const TimeSteps& steps = plan_.steps;
    if (steps.lengths == StepLengths::fixed) {
      return steps.begin + static_cast<double>(steps_) * steps.step;
    }
    return options_.resumed ? task::TimeLine{steps.begin, steps.end}.time_at(options_.resumed->now) : steps.begin;
  }
  /// Cells have the reach of short-range sums, unless the program gives another.
  void add_pairs(detail::PairSums sums) {
    results_.insert(results_.end(), sums.results.begin(), sums.results.end());
    CellsOfSystem& cells = plan_.cells;
    if (!options_.cells.reach) {
      reaches_differ_ = reaches_differ_ || (cells.reach && cells.reach->column != sums.search.reach.column);
      cells.reach_factor =
          cells.reach ? std::max(cells.reach_factor, sums.search.reach_factor) : sums.search.reach_factor;
      cells.reach = sums.search.reach;
    }
    plan_.stages.push_back(detail::make_pair_stage(store_, std::move(sums), scheduler_.worker_count()));
  }

  void note_step(std::uint64_t updated, nanoseconds took) {
    if (!record_) {
      return;
    }
    gather_times();
    PhaseTimes phases = times_.phases;
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
      phases[phase] -= phases_noted_[phase];
    }
    phases_noted_ = times_.phases;
    record_->note({static_cast<std::uint32_t>(steps_ - steps_before()), store_.size(), updated, took}, phases);
  }

  void gather_times() {
    if (trees_) {
      trees_->take_phases(times_.phases);
    }
    for (const detail::SystemInteraction& interaction : interactions_) {
      interaction.sum->take_times(times_);
    }
  }

  Particles& store_;
  comm::Endpoint& messages_;
  task::Scheduler& scheduler_;
  const SystemOptions options_;
  Space space_;  ///< At the present time.
  std::uint64_t steps_;
  Domain domain_;
  Decomposition decomposition_;
  ParticleExchange exchange_;
  bool is_distributed_;
  std::vector<detail::SystemInteraction> interactions_;
  StepTimes times_;
  PhaseTimes phases_noted_{};  ///< The part of `times_` that the trace has.
  std::optional<detail::EqualSteps> equal_;
  std::optional<detail::TreeDriver> trees_;  ///< One of both, from the first step on.
  std::optional<detail::CellDriver> cells_;
};

System::System(comm::Endpoint& messages, task::Scheduler& scheduler, Particles& store, const SystemOptions& options)
    : state_{std::make_shared<State>(messages, scheduler, store, options)} {}
System::~System() = default;

void System::integrate(Integrator integrator) {
  State& state = *state_;
  expect(!state.has_begun(), parts_come_first);
  if (state.has_integrator_) {
    throw Error{ErrorCode::bad_argument, "a system has one integrator: add functions by System::before and after"};
  }
  state.has_integrator_ = true;
  state.plan_.integrator = std::move(integrator);
  const auto begin = [&state](Particles& store, std::size_t first, std::size_t last) {
    state.equal_->begin(store, first, last);
  };
  const auto end = [&state](Particles& store, std::size_t first, std::size_t last) {
    state.equal_->end(store, first, last);
  };
  state.hooks_.before.push_back({"kick, drift", begin, true});
  state.hooks_.after.push_back({"kick", end, true});
}

void System::take_steps(const TimeSteps& steps, const std::optional<StepFields>& fields) {
  expect(!state_->has_begun(), "the lengths of steps are set before the first");
  state_->plan_.steps = steps;
  if (fields) {
    expect(&fields->store == &state_->store_, "the fields of steps are of the system's store");
    state_->step_fields_.emplace(*fields);
    state_->has_new_step_fields_ = false;
  } else if (steps.lengths != StepLengths::fixed && !state_->step_fields_) {
    state_->step_fields_.emplace(state_->store_);
    state_->has_new_step_fields_ = true;
  }
}

void System::limit_steps_by(StepCriterion criterion) {
  expect(!state_->has_begun(), parts_come_first);
  state_->plan_.criteria.push_back(std::move(criterion));
}

LongRange& System::add_long_range(LongRangeOptions options) {
  state_->results_.insert(state_->results_.end(), {options.acceleration, options.potential});
  auto& interaction = static_cast<LongRange&>(add(make_long_range(std::move(options))));
  state_->interactions_.back().sums_in_cells = true;
  state_->plan_.forces.push_back(&interaction);
  return interaction;
}

Interaction& System::add_short_range(ShortRangeOptions search, std::vector<AnyField> results, ShortRangeKernel kernel) {
  state_->add_pairs({"short range", search, results, kernel});
  Interaction& interaction =
      add(make_short_range_sums({std::move(search), std::move(results), std::move(kernel)}, state_->tree_));
  state_->interactions_.back().sums_in_cells = true;
  return interaction;
}

void System::add_stage(Stage stage) {
  expect(!state_->has_begun(), parts_come_first);
  state_->has_stages_ = true;
  state_->plan_.stages.push_back(std::move(stage));
}

void System::add_pair_stage(std::string kind,
                            ShortRangeOptions search,
                            std::vector<AnyField> results,
                            ShortRangeKernel kernel) {
  expect(!state_->has_begun(), parts_come_first);
  state_->has_stages_ = true;
  state_->add_pairs({std::move(kind), std::move(search), std::move(results), std::move(kernel)});
}

NeighbourLists& System::add_neighbour_lists(NeighbourOptions options) {
  return static_cast<NeighbourLists&>(add(make_neighbour_lists(state_->store_, std::move(options), state_->tree_)));
}

Interaction& System::add(std::unique_ptr<Interaction> interaction) {
  expect(!state_->has_begun(), parts_come_first);
  if (interaction->tree() != nullptr) {
    state_->tree_ = interaction->tree();
  }
  state_->interactions_.push_back({std::move(interaction), state_->messages_.claim_comms(1)});
  return *state_->interactions_.back().sum;
}

Interaction& System::add_slow_force(SlowForce force) {
  if (state_->plan_.slow.sum != nullptr) {
    throw Error{ErrorCode::bad_argument, "a system has one slow force: sum both in one interaction"};
  }
  check_slow(force);
  Interaction& interaction = add(std::move(force.sum));
  state_->interactions_.back().sums_in_cells = true;
  state_->results_.insert(state_->results_.end(), force.results.begin(), force.results.end());
  state_->plan_.slow = {&interaction, std::move(force.forces), std::move(force.kick), std::move(force.predict)};
  return interaction;
}

void System::before(std::string kind, RangeFunction function) {
  expect(!state_->has_begun(), parts_come_first);
  state_->hooks_.before.push_back({std::move(kind), std::move(function)});
}

void System::after(std::string kind, RangeFunction function) {
  expect(!state_->has_begun(), parts_come_first);
  state_->hooks_.after.push_back({std::move(kind), std::move(function)});
}

void System::when_summed(std::function<void()> function) {
  state_->hooks_.when_summed.push_back(std::move(function));
}

void System::record_to(trace::Recorder& recorder) {
  state_->record_.emplace(recorder);
}

template <class Work>
auto System::guarded(Work work) {
  try {
    return work(*state_);
  } catch (...) {
    state_->messages_.keep(state_);
    throw;
  }
}

void System::update() {
  guarded([](State& state) { state.update(); });
}

StepResult System::step() {
  return guarded([](State& state) { return state.step(); });
}

void System::run_until(double time) {
  while (this->time() < time && !is_over()) {
    const double before = this->time();
    (void)step();
    if (!(this->time() > before)) {
      throw Error{ErrorCode::bad_argument,
                  "steps do not advance the time: give System::take_steps a positive step before System::run_until"};
    }
  }
}

void System::synchronise() {
  if (state_->cells_) {
    update();
  }
}

SavedSteps System::save_steps() {
  return guarded([](State& state) { return state.save(); });
}

double System::time() const {
  const State& state = *state_;
  return state.cells_ ? state.cells_->time() : state.equal_ ? state.equal_->time() : state.time_before();
}

bool System::is_over() const {
  return state_->cells_ ? state_->cells_->is_over() : state_->equal_ && state_->equal_->is_over();
}

void System::set_time(double time) {
  Space later = state_->space_;
  later.shear.time = time;
  later.check();
  state_->space_ = later;
}

const Space& System::space() const noexcept {
  return state_->space_;
}

const StepFields& System::step_fields() const {
  expect(state_->step_fields_.has_value(), "fixed steps have no fields");
  return *state_->step_fields_;
}

void System::list_neighbours_anew() noexcept {
  if (state_->cells_) {
    state_->cells_->list_neighbours_anew();
  }
}

void System::particles_changed() noexcept {
  if (state_->trees_) {
    state_->trees_->forget_trees();
  }
}

void System::distribute() {
  guarded([](State& state) { state.distribute(); });
}

const Domain& System::domain() const noexcept {
  return state_->domain_;
}

std::vector<double> System::gather_cuts() {
  return state_->gather_cuts();
}

StepTimes System::take_times() {
  state_->gather_times();
  state_->phases_noted_ = {};
  return std::exchange(state_->times_, {});
}

}  // namespace plait::particles
