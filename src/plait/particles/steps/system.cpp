// SPDX-License-Identifier: Apache-2.0
// The tasks of a step and their order.
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
#include "plait/particles/steps/detail/pair_stage.hpp"
#include "plait/particles/steps/detail/step_plan.hpp"
#include "plait/particles/steps/step_record.hpp"
#include "plait/task/graph.hpp"

namespace plait::particles {

namespace {

using task::Task;
using task::TaskContext;
using task::TaskKind;

constexpr std::size_t pieces_a_worker = 2;

DomainGrid grid_of(const SystemOptions& options, std::uint32_t ranks) {
  return options.grid.ranks() == 0 ? cubic_grid(ranks) : options.grid;
}

}  // namespace

/// Shared with the endpoint after a failed run, as messages may still be in flight.
struct System::State {
  struct Hook {
    std::string kind;
    RangeFunction function;
    bool moves = false;  ///< A part of the integrator.
  };
  using PieceFunction = std::function<void(const TaskContext& context, std::size_t first, std::size_t last)>;

  std::vector<Hook> before_;
  std::vector<Hook> after_;
  std::vector<std::function<void()>> when_summed_;
  detail::StepPlan plan_;
  std::optional<StepFields> step_fields_;
  std::optional<detail::EqualSteps> equal_;
  std::optional<detail::CellDriver> cells_;
  std::vector<const Interaction*> in_cells_;  ///< Interactions that sum for active particles.
  bool has_stages_ = false;
  bool has_integrator_ = false;
  std::uint64_t steps_ = 0;
  std::optional<StepRecord> record_;
  const Tree* tree_ = nullptr;  ///< Of the last interaction that has one.

  State(comm::Endpoint& messages, task::Scheduler& scheduler, Particles& store, const SystemOptions& options)
      : store_{store},
        messages_{messages},
        scheduler_{scheduler},
        options_{options},
        domain_{options.cuts.empty() ? Domain{grid_of(options, messages.rank_count()), messages.self()}
                                     : Domain{grid_of(options, messages.rank_count()), messages.self(), options.cuts}},
        next_domain_{domain_},
        decomposition_{messages, options.space, domain_.grid(), options.decomposition},
        exchange_{messages, options_.space, store},
        phases_(scheduler.worker_count()) {
    plan_.cells = options.cells;
    if (options_.steps_between_trees == 0) {
      throw Error{ErrorCode::bad_argument,
                  "steps_between_trees is 0: set it to 1 to build trees in every step, or to a larger number"};
    }
  }

  [[nodiscard]] bool is_parallel() const { return messages_.rank_count() > 1; }
  [[nodiscard]] std::size_t pieces() const {
    return scheduler_.worker_count() == 1 ? 1 : pieces_a_worker * scheduler_.worker_count();
  }
  [[nodiscard]] PhaseTimes& phases(const TaskContext& context) { return phases_[context.worker().value()]; }

  // ---- the graph ----

  /// In sequence: before, [decomposition, exchange,] trees, sums, after. Each step activates building or refreshing.
  void build_graph() {
    graph_.emplace();
    Task begin = graph_->join("step");
    first_tasks_ = {begin};
    const Task moved = add_hooks(before_, begin, first_tasks_);
    Task arrived = moved;
    if (options_.space.is_periodic()) {
      arrived = add_for_pieces(
          "wrap",
          [this](const TaskContext&, std::size_t first, std::size_t last) {
            for (Vector& position : store_.positions().subspan(first, last - first)) {
              position = options_.space.wrap(position);
            }
          },
          arrived);
      exchanging_.push_back(arrived);
    }
    Task summed = graph_->task("summed", [this] {
      for (const auto& function : when_summed_) {
        function();
      }
    });
    if (is_parallel()) {
      add_decomposition(arrived);
      arrived = add_exchange(arrived);
    }
    add_sums(moved, arrived, summed);
    last_tasks_.push_back(summed);
    const Task ended = add_hooks(after_, summed, last_tasks_);
    if (equal_ && equal_->are_chosen()) {
      add_choice(summed, ended);
    }
  }

  /// Ranks agree on the length of the next step.
  void add_choice(Task summed, Task ended) {
    Task limit = add_for_pieces(
        "limit steps",
        [this](const TaskContext& context, std::size_t first, std::size_t last) {
          equal_->limit(store_, first, last, context.worker().value());
        },
        ended);
    limit.after(summed);
    Task agree = graph_->task("agree on step", [this, kind = graph_->kind("agree on step")](TaskContext& context) {
      context.wait_for(kind, equal_->agree());
    });
    agree.after(limit);
    choosing_ = {limit, agree};
  }

  /// The next exchange uses the new boundaries: only the end of the step waits for them.
  void add_decomposition(Task after) {
    const TaskKind kind = graph_->kind("cut domains");
    Task choose = graph_->task("choose samples", [this](TaskContext& context) {
      const PhaseTimer timer{phases(context), Phase::decompose};
      decomposition_.choose(store_);
    });
    Task cut = graph_->task("cut domains", [this, kind](TaskContext& context) {
      const PhaseTimer timer{phases(context), Phase::decompose};
      next_domain_ = domain_;
      context.wait_for(kind, decomposition_.cut(next_domain_));
    });
    choose.after(after);
    cut.after(choose);
    decomposing_ = {choose, cut};
  }

  Task add_exchange(Task after) {
    const TaskKind search_kind = graph_->kind("find leavers");
    const TaskKind move_kind = graph_->kind("exchange particles");
    Task search = graph_->task("find leavers", [this, search_kind](TaskContext& context) {
      const std::size_t count = pieces();
      exchange_.begin_search(domain_, static_cast<std::uint32_t>(count));
      for (std::uint32_t piece = 0; piece < count; ++piece) {
        const auto work = [this, piece](TaskContext& inner) {
          const PhaseTimer timer{phases(inner), Phase::exchange};
          exchange_.search_piece(piece);
        };
        count == 1 ? work(context) : context.spawn({.kind = search_kind, .body = work, .object = piece});
      }
    });
    Task move = graph_->task("exchange particles", [this, move_kind](TaskContext& context) {
      context.wait_for(move_kind, exchange_.move(Travel::neighbors));
    });
    Task take = graph_->task("take in particles", [this](TaskContext& context) {
      const PhaseTimer timer{phases(context), Phase::exchange};
      exchange_.finish();
    });
    search.after(after).after(decomposing_.front());  // which reads the positions that this wraps
    move.after(search);
    take.after(move);
    exchanging_.insert(exchanging_.end(), {search, move, take});
    return take;
  }

  /// Builds wait for arriving particles. Refreshes, in steps without an exchange, wait for the drift.
  void add_sums(Task moved, Task arrived, Task end) {
    Task clear = add_for_pieces(
        "clear sums",
        [this](const TaskContext&, std::size_t first, std::size_t last) {
          std::ranges::fill(store_[Particles::cost].subspan(first, last - first), 0.0F);
          for (const auto& interaction : interactions_) {
            interaction->clear_results(store_, first, last);
          }
        },
        arrived);
    clear.after(moved);
    Task built = arrived;
    Task refreshed = moved;
    std::vector<StepFrame> frames;
    std::optional<Task> last_waiting;
    for (std::uint32_t number = 0; number < interactions_.size(); ++number) {
      const StepFrame frame{messages_,
                            store_,
                            *graph_,
                            scheduler_.worker_count(),
                            options_.space,
                            interaction_comms_[number][0],
                            last_waiting};
      for (const Task& task : interactions_[number]->add_building_tasks(frame, built)) {
        building_.push_back(task);
        built = task;
      }
      for (const Task& task : interactions_[number]->add_refreshing_tasks(frame, refreshed)) {
        refreshing_.push_back(task);
        refreshed = task;
      }
      frames.push_back(frame);
    }
    clear.after(built).after(refreshed);
    summing_.push_back(clear);
    end.after(clear);
    for (std::size_t number = 0; number < interactions_.size(); ++number) {
      const std::vector<Task> tasks = interactions_[number]->add_summing_tasks(frames[number], clear, end);
      summing_.insert(summing_.end(), tasks.begin(), tasks.end());
    }
  }

  Task add_hooks(std::span<const Hook> hooks, Task after, std::vector<Task>& tasks) {
    for (const Hook& hook : hooks) {
      after = add_for_pieces(
          hook.kind,
          [this, &hook](const TaskContext&, std::size_t first, std::size_t last) {
            hook.function(store_, first, last);
          },
          after);
      tasks.push_back(after);
    }
    return after;
  }

  /// Adds a task that spawns tasks for pieces of the particles that this rank has at that time.
  Task add_for_pieces(const std::string& kind_name, PieceFunction function, Task after) {
    const TaskKind kind = graph_->kind(kind_name);
    Task task = graph_->task(kind_name, [this, kind, function = std::move(function)](TaskContext& context) {
      const std::size_t size = store_.size();
      const std::size_t count = pieces();
      for (std::size_t piece = 0; piece < count; ++piece) {
        const auto work =
            [this, &function, first = size * piece / count, last = size * (piece + 1) / count](TaskContext& inner) {
              const PhaseTimer timer{phases(inner), Phase::other};
              function(inner, first, last);
            };
        count == 1 ? work(context) : context.spawn({.kind = kind, .body = work, .object = piece});
      }
    });
    return task.after(after);
  }

  // ---- stepping ----

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

  /// Decides by the declared parts how particles step. Throws: `Error` with `bad_argument` if parts do not fit.
  void prepare() {
    if (graph_ || cells_) {
      return;
    }
    const bool are_individual = plan_.steps.lengths == StepLengths::individual;
    if (are_individual || has_stages_) {
      prepare_cells();
      return;
    }
    if (has_integrator_) {
      equal_.emplace(messages_, plan_.integrator, plan_.steps, plan_.criteria, scheduler_.worker_count());
    }
    build_graph();
  }

  void prepare_cells() {
    const auto refuse = [](const char* what, const char* instead) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("{} not with individual time steps or stages: {}", what, instead)};
    };
    if (plan_.steps.lengths == StepLengths::fixed) {
      refuse("fixed steps are", "take equal ones with a step_max");
    }
    if (in_cells_.size() < interactions_.size()) {
      refuse("neighbour lists and a program's own interactions are", "use long-range ones and stages");
    }
    if (std::ranges::any_of(before_, [](const Hook& hook) { return !hook.moves; }) || !when_summed_.empty()) {
      refuse("functions of before and when_summed are", "add a stage");
    }
    for (const Hook& hook : after_) {
      if (!hook.moves) {
        plan_.after.push_back(hook.function);
      }
    }
    cells_.emplace(detail::CellDriver::Place{.messages = messages_,
                                             .scheduler = scheduler_,
                                             .store = store_,
                                             .space = options_.space,
                                             .decomposition = decomposition_,
                                             .domain = domain_,
                                             .exchange = exchange_},
                   plan_,
                   *step_fields_);
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
    if (!cells_) {
      run(false);
    } else {
      timed([this] { cells_->has_started() ? cells_->synchronise() : cells_->start(); });
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
      run(false);
    }
    result.step = equal_ ? equal_->length() : 0;
    const nanoseconds took = run(true);
    result.time = equal_ ? equal_->time() : 0;
    result.updated_here = store_.size();
    end_step(result, took);
    return result;
  }

  void end_step(const StepResult& result, nanoseconds took) {
    note_step(result.updated_here, took);
    ++steps_;
    ++times_.steps;
  }

  nanoseconds run(bool is_step) {
    if (!is_distributed_) {
      distribute();
    }
    const bool builds = !has_trees_ || ++updates_ >= options_.steps_between_trees;
    if (!builds) {
      check_unchanged();
    }
    const bool decomposes =
        is_parallel() && is_step && builds && options_.steps_between_decompositions > 0 && steps_ >= next_cut_;
    if (decomposes) {
      next_cut_ = steps_ + options_.steps_between_decompositions;
    }
    std::vector<Task> active;
    const auto add_all = [&active](std::span<const Task> tasks) {
      active.insert(active.end(), tasks.begin(), tasks.end());
    };
    if (is_step) {
      add_all(first_tasks_);
    }
    if (decomposes) {
      add_all(decomposing_);
    }
    if (builds) {
      add_all(exchanging_);
    }
    add_all(builds ? building_ : refreshing_);
    add_all(summing_);
    add_all(is_step ? std::span<const Task>{last_tasks_} : std::span<const Task>{last_tasks_}.first(1));
    add_all(choosing_);
    if (builds) {
      updates_ = 0;
      has_trees_ = true;
    }
    const nanoseconds took = timed([&] { scheduler_.run(*graph_, active); });
    size_noted_ = store_.size();
    if (decomposes) {
      domain_ = next_domain_;
    }
    if (equal_) {
      is_step ? equal_->advance() : equal_->choose();
    }
    return took;
  }

  /// Reused trees have the particles of the last step.
  void check_unchanged() const {
    if (store_.size() == size_noted_) {
      return;
    }
    const Error error{ErrorCode::bad_argument,
                      fmt::format("the store has {} particles and had {} when trees were built: call "
                                  "System::particles_changed on all ranks after adding or removing particles",
                                  store_.size(),
                                  size_noted_)};
    messages_.stop_all(error);  // the others wait for this one
    throw error;
  }

  [[nodiscard]] bool has_begun() const { return graph_ || cells_; }
  /// Cells have the reach of short-range sums, unless the program gives another.
  void add_pairs(detail::PairSums sums) {
    CellsOfSystem& cells = plan_.cells;
    if (!options_.cells.reach) {
      cells.reach_factor = cells.reach ? std::max(cells.reach_factor, sums.search.reach_factor) : sums.search.reach_factor;
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
    record_->note({static_cast<std::uint32_t>(steps_), store_.size(), updated, took}, phases);
  }

  void gather_times() {
    for (PhaseTimes& phases : phases_) {
      move_times(phases, times_.phases);
    }
    for (const auto& interaction : interactions_) {
      interaction->take_times(times_);
    }
  }

  Particles& store_;
  comm::Endpoint& messages_;
  task::Scheduler& scheduler_;
  const SystemOptions options_;
  Domain domain_;
  Domain next_domain_;  ///< The result of a decomposition, in use from the next step on.
  Decomposition decomposition_;
  ParticleExchange exchange_;
  bool is_distributed_ = false;
  std::vector<std::unique_ptr<Interaction>> interactions_;
  std::vector<comm::ClaimedComms> interaction_comms_;  ///< One for each.
  std::vector<PhaseTimes> phases_;                     ///< By worker.
  StepTimes times_;
  PhaseTimes phases_noted_{};  ///< The part of `times_` that the trace has.
  std::uint64_t updates_ = 0;  ///< Since the last build.
  bool has_trees_ = false;
  std::size_t size_noted_ = 0;  ///< Of the store after the last step.
  std::uint64_t next_cut_ = 0;  ///< The step of the next decomposition.

  std::optional<task::Graph> graph_;
  std::vector<Task> first_tasks_;
  std::vector<Task> decomposing_;  ///< In steps that decompose.
  std::vector<Task> exchanging_;   ///< In steps that build trees, including the wrap of positions.
  std::vector<Task> building_;     ///< In steps that build trees.
  std::vector<Task> refreshing_;   ///< In other steps.
  std::vector<Task> summing_;
  std::vector<Task> last_tasks_;
  std::vector<Task> choosing_;  ///< In all runs, if ranks agree on the length of steps.
};

System::System(comm::Endpoint& messages, task::Scheduler& scheduler, Particles& store, const SystemOptions& options)
    : state_{std::make_shared<State>(messages, scheduler, store, options)} {}
System::~System() = default;

void System::integrate(Integrator integrator) {
  State& state = *state_;
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
  state.before_.push_back({"kick, drift", begin, true});
  state.after_.push_back({"kick", end, true});
}

void System::take_steps(const TimeSteps& steps) {
  expect(!state_->has_begun(), "the lengths of steps are set before the first");
  state_->plan_.steps = steps;
  if (steps.lengths != StepLengths::fixed && !state_->step_fields_) {
    state_->step_fields_.emplace(state_->store_);
  }
}

void System::limit_steps_by(StepCriterion criterion) {
  state_->plan_.criteria.push_back(std::move(criterion));
}

LongRange& System::add_long_range(LongRangeOptions options) {
  auto& interaction = static_cast<LongRange&>(add(make_long_range(std::move(options))));
  state_->in_cells_.push_back(&interaction);
  state_->plan_.forces.push_back(&interaction);
  return interaction;
}

Interaction& System::add_short_range(ShortRangeOptions search, std::vector<AnyField> results, ShortRangeKernel kernel) {
  state_->add_pairs({"short range", search, results, kernel});
  Interaction& interaction =
      add(make_short_range_sums({std::move(search), std::move(results), std::move(kernel)}, state_->tree_));
  state_->in_cells_.push_back(&interaction);
  return interaction;
}

void System::add_stage(Stage stage) {
  expect(!state_->has_begun(), "a system's stages are added before its first step");
  state_->has_stages_ = true;
  state_->plan_.stages.push_back(std::move(stage));
}

void System::add_pair_stage(std::string kind,
                            ShortRangeOptions search,
                            std::vector<AnyField> results,
                            ShortRangeKernel kernel) {
  state_->has_stages_ = true;
  state_->add_pairs({std::move(kind), std::move(search), std::move(results), std::move(kernel)});
}

NeighbourLists& System::add_neighbour_lists(NeighbourOptions options) {
  return static_cast<NeighbourLists&>(add(make_neighbour_lists(state_->store_, std::move(options), state_->tree_)));
}

Interaction& System::add(std::unique_ptr<Interaction> interaction) {
  expect(!state_->has_begun(), "a system's interactions are added before its first step");
  state_->interaction_comms_.push_back(state_->messages_.claim_comms(1));
  if (interaction->tree() != nullptr) {
    state_->tree_ = interaction->tree();
  }
  return *state_->interactions_.emplace_back(std::move(interaction));
}

void System::before(std::string kind, RangeFunction function) {
  state_->before_.push_back({std::move(kind), std::move(function)});
}

void System::after(std::string kind, RangeFunction function) {
  state_->after_.push_back({std::move(kind), std::move(function)});
}

void System::when_summed(std::function<void()> function) {
  state_->when_summed_.push_back(std::move(function));
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
    (void)step();
  }
}

void System::synchronise() {
  if (state_->cells_) {
    update();
  }
}

double System::time() const {
  const State& state = *state_;
  return state.cells_ ? state.cells_->time() : state.equal_ ? state.equal_->time() : state.plan_.steps.begin;
}

bool System::is_over() const {
  return state_->cells_ ? state_->cells_->is_over() : state_->equal_ && state_->equal_->is_over();
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
  state_->has_trees_ = false;
}

void System::distribute() {
  guarded([](State& state) { state.distribute(); });
}

const Domain& System::domain() const noexcept {
  return state_->domain_;
}

std::vector<double> System::gather_cuts() {
  const Box mine = state_->domain_.box();
  std::vector<Box> boxes(state_->messages_.rank_count());
  comm::all_gather(comm::Group{state_->messages_}, std::span<const Box>{&mine, 1}, std::span{boxes}).wait();
  return all_cuts(state_->domain_.grid(), boxes);
}

StepTimes System::take_times() {
  state_->gather_times();
  state_->phases_noted_ = {};
  return std::exchange(state_->times_, {});
}

}  // namespace plait::particles
