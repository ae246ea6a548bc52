// SPDX-License-Identifier: Apache-2.0
#include "sph/parallel/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sph/parallel/detail/simulation_impl.hpp"

namespace sph {

namespace {

namespace task = plait::task;
using plait::particles::Parts;
using plait::particles::Search;
using plait::particles::ShortRangeOptions;

/// Neighbour lists are built with reaches longer by this factor. Part of it is for longer smoothing lengths
/// (`smoothing_growth_max`), the rest for larger cells.
constexpr double reach_growth = 1.8;
constexpr double cell_growth_max = 0.3;  ///< In units of the cell's reach.
/// A block of sources is complete for smoothing lengths that grow by this factor.
constexpr double block_growth = 1.05;
/// Trees are built anew when their parts have grown by this factor.
constexpr double tree_growth_max = 1.2;
constexpr std::uint32_t tree_leaf_particles = 4;
constexpr std::uint32_t first_tries_max = 40;
constexpr float memory_of_costs = 0.5F;

ShortRangeOptions density_search(const GasFields& fields, const Scheme& scheme) {
  return {.search = Search::gather,
          .reach = fields.smoothing,
          .reach_factor = static_cast<double>(support_ratio(scheme.kernel)) * block_growth,
          .sources = {fields.velocity_now, fields.mass},
          .source_kinds = 1ULL << gas_kind};
}

ShortRangeOptions force_search(const GasFields& fields, const Scheme& scheme) {
  ShortRangeOptions options{.search = Search::symmetric,
                            .reach = fields.smoothing,
                            .reach_factor = support_ratio(scheme.kernel),
                            .sources = {fields.velocity_now,
                                        fields.mass,
                                        fields.smoothing,
                                        fields.density,
                                        fields.grad_h,
                                        fields.energy_now,
                                        fields.viscosity,
                                        fields.conduction},
                            .source_kinds = 1ULL << gas_kind};
  if (scheme.kind == SchemeKind::reconstructed) {
    options.sources.insert(options.sources.end(), {fields.strain_along, fields.strain_across});
  }
  return options;
}

plait::particles::Domain resumed_domain(plait::comm::Endpoint& messages, const std::optional<StepState>& resumed) {
  const plait::particles::DomainGrid grid = plait::particles::cubic_grid(messages.rank_count());
  return resumed && !resumed->cuts.empty() ? plait::particles::Domain{grid, messages.self(), resumed->cuts}
                                           : plait::particles::Domain{grid, messages.self()};
}

}  // namespace

Simulation::Impl::Impl(plait::comm::Endpoint& messages,
                       plait::task::Scheduler& scheduler,
                       Particles& store,
                       const GasFields& fields,
                       const SimulationOptions& options)
    : messages_{messages},
      scheduler_{scheduler},
      store_{store},
      fields_{fields},
      step_fields_{options.step_fields ? *options.step_fields : StepFields{store}},
      options_{options},
      line_{options_.begin, options_.end},
      density_search_{density_search(fields, scheme_)},
      force_search_{force_search(fields, scheme_)},
      all_{messages},
      decomposition_{messages, options_.space, plait::particles::cubic_grid(messages.rank_count())},
      domain_{resumed_domain(messages, options_.resumed)},
      exchange_{messages, options_.space, store},
      ghosts_{store.make_like()},
      table_{store, ghosts_, options_.space.period()},
      limiter_{table_,
               {.bin = step_fields_.bin,
                .bin_seen = step_fields_.bin_seen,
                .reach = fields.smoothing,
                .reach_factor = ratio(),
                .kinds = {gas_kind},
                .wake = [this](Particles::Index i, TimeBin bin, Ticks now) { wake(i, bin, now); }}},
      shortest_step_{std::max(options_.step_min, line_.duration(task::ticks_of(task::shortest_bin)))} {
  options_.space.check();
  for (std::uint32_t worker = 0; worker < scheduler.worker_count(); ++worker) {
    workers_.push_back(std::make_unique<SphWorker>(density_search_, force_search_));
  }
  if (scheme_.gravity.constant != 0) {
    gravity_ = plait::particles::make_long_range({.charge = fields.mass,
                                                  .acceleration = fields.gravity,
                                                  .potential = fields.potential,
                                                  .theta = scheme_.gravity.theta,
                                                  .softening = scheme_.gravity.softening,
                                                  .coupling = scheme_.gravity.constant,
                                                  .leaf_bodies_max = tree_leaf_particles,
                                                  .velocity = fields.velocity_now});
  }
  if (is_starting_) {
    begin_steps_of_all();
  }
}

/// All particles are active at the begin of the time line.
void Simulation::Impl::begin_steps_of_all() {
  std::ranges::fill(store_[step_fields_.bin], task::longest_bin.value());
  std::ranges::fill(store_[step_fields_.bin_seen], task::longest_bin.value());
  std::ranges::fill(store_[step_fields_.begin], Ticks{0});
  const Gas all = gas();
  for (std::size_t i = 0; i < all.count; ++i) {
    settle(all, i);
  }
}

/// Initial smoothing lengths are guesses: rebuilds neighbour lists until all have converged.
void Simulation::Impl::start() {
  if (!is_starting_) {
    return;  // the first step builds cells
  }
  bool again = true;
  for (std::uint32_t tries = 0; again && tries < first_tries_max; ++tries) {
    make_cells();
    again = steps_->step_all(now_, [this](Ticks) { return is_cramped_.exchange(false); }, Parts::stages).is_any;
  }
  if (again) {
    throw plait::Error{plait::ErrorCode::bad_input,
                       "smoothing lengths do not converge: are they far too short? Give better guesses in the input"};
  }
  find_gravity();
  is_starting_ = false;
  (void)steps_->step_all(now_, {}, Parts::stages);
  if (options_.steps == Steps::equal) {
    take_equal_steps();
  }
  next_ = steps_->begin(now_);
}

/// Sums gravity on all particles.
void Simulation::Impl::find_gravity() {
  if (gravity_ != nullptr) {
    (void)steps_->step_all(now_, {}, Parts::forces);
  }
}

void Simulation::Impl::make_cells() {
  drift_all();
  distribute();
  steps_.reset();
  // As a task, so that an error ends the run on every rank.
  plait::Graph graph;
  graph.task("make cells", [this] { divide(); });
  scheduler_.run(graph);
  std::vector<plait::particles::AnyField> travel = drifting_fields();
  travel.insert(travel.end(), {Particles::kind, fields_.mass});
  halo_ =
      plait::particles::make_halo(messages_,
                                  table_,
                                  {.growth = reach_growth},
                                  {.reach = fields_.smoothing, .reach_factor = ratio(), .travel = std::move(travel)});
  cells_.clear();
  for (std::uint32_t cell = 0; cell < table_.own_count(); ++cell) {
    double speed2 = 0;
    for (const Vector& v : store_[fields_.velocity].subspan(table_[cell].first, table_[cell].count)) {
      speed2 = std::max(speed2, dot(v, v));
    }
    cells_.push_back({table_[cell], now_, std::sqrt(speed2)});
  }
  plait::particles::CellStepsOptions options{
      .bin = step_fields_.bin, .reach = fields_.smoothing, .reach_factor = ratio(), .stages = stages(), .forces = {}};
  if (gravity_ != nullptr) {
    options.forces = {.interactions = {gravity_.get()},
                      .space = options_.space,
                      .line = line_,
                      .velocity = fields_.velocity,
                      .drifted = [this](std::uint32_t cell) { return cells_[cell].drifted; },
                      .after = "drift",
                      .before = "end steps"};
  }
  steps_ = std::make_unique<plait::particles::CellSteps>(messages_, scheduler_, table_, halo_, std::move(options));
  wants_cells_ = false;
}

/// Divides the domain by how often particles were updated lately, and sends them to their owners. As tasks, so that an
/// error ends the run on every rank.
void Simulation::Impl::distribute() {
  plait::Graph graph;
  const task::TaskKind cutting = graph.kind("cut domains");
  const task::TaskKind moving = graph.kind("exchange particles");
  plait::Task choose = graph.task("choose samples", [this] { decomposition_.choose(store_); });
  plait::Task cut = graph.task("cut domains", [this, cutting](task::TaskContext& context) {
    context.wait_for(cutting, decomposition_.cut(domain_));
  });
  plait::Task move = graph.task("exchange particles", [this, moving](task::TaskContext& context) {
    exchange_.search(domain_);
    context.wait_for(moving, exchange_.move(plait::particles::Travel::everywhere));
  });
  cut.after(choose);
  move.after(cut);
  scheduler_.run(graph);
  exchange_.finish();
  for (float& cost : store_[Particles::cost]) {
    cost *= memory_of_costs;
  }
}

void Simulation::Impl::divide() {
  for (Vector& position : store_.positions()) {
    position = options_.space.wrap(position);
  }
  std::vector<Particles::Index> order;
  plait::particles::CellOptions cells = options_.cells;
  cells.ordered_particles_max = gravity_ != nullptr ? tree_leaf_particles : 0;
  const plait::particles::CellSizes sizes = plait::particles::divide_into_cells(store_, cells, order);
  store_.reorder(order);
  table_.assign(sizes);
  for (std::uint32_t cell = 0; cell < table_.own_count(); ++cell) {
    table_.refresh(cell, fields_.smoothing, ratio());
  }
}

void Simulation::Impl::drift_all() {
  const Gas all = gas();
  for (std::size_t number = 0; number < cells_.size(); ++number) {
    CellState& cell = cells_[number];
    const double duration = line_.duration(now_ - cell.drifted);
    if (duration > 0) {
      for (Particles::Index i = cell.made.first; i < cell.made.first + cell.made.count; ++i) {
        drift(all, i, scheme_, duration);
      }
      table_.refresh(static_cast<std::uint32_t>(number), fields_.smoothing, ratio());
    }
    cell.drifted = now_;
  }
}

/// Whether a cell may have outgrown its neighbour list by `next`.
bool Simulation::Impl::must_make_cells(Ticks next) const {
  for (std::uint32_t number = 0; number < table_.own_count(); ++number) {
    const CellState& state = cells_[number];
    if (state.made.reach == 0) {
      continue;  // no gas: no cell reads it
    }
    const auto& was = state.made.box;
    const auto& is = table_[number].box;
    const Vector out{std::max({was.low.x - is.low.x, is.high.x - was.high.x, 0.0}),
                     std::max({was.low.y - is.low.y, is.high.y - was.high.y, 0.0}),
                     std::max({was.low.z - is.low.z, is.high.z - was.high.z, 0.0})};
    const double moved = length(out) + state.speed_max * line_.duration(next - state.drifted);
    if (moved > cell_growth_max * static_cast<double>(state.made.reach)) {
      return true;
    }
  }
  return false;
}

void Simulation::Impl::synchronise() {
  drift_all();
  if (gravity_ != nullptr && steps_ != nullptr) {
    // Their gravity remains: it belongs to the steps that they have begun.
    const std::span<Vector> gravity = store_[fields_.gravity];
    gravity_before_.assign(gravity.begin(), gravity.end());
    find_gravity();
    std::ranges::copy(gravity_before_, store_[fields_.gravity].begin());
  }
}

StepState Simulation::Impl::save() {
  synchronise();
  wants_cells_ = true;
  const plait::particles::Box mine = domain_.box();
  std::vector<plait::particles::Box> boxes(messages_.rank_count());
  plait::comm::all_gather(all_, std::span<const plait::particles::Box>{&mine, 1}, std::span{boxes}).wait();
  return {line_.begin(), line_.end(), now_, options_.steps, plait::particles::all_cuts(domain_.grid(), boxes)};
}

StepReport Simulation::Impl::step() {
  StepReport report;
  const Ticks before = now_;
  if (wants_cells_) {
    make_cells();
    next_ = steps_->begin(now_);
    report.made_cells = true;
  }
  now_ = std::min(next_, plait::line_ticks);
  const auto ask = [this](Ticks next) {
    return is_cramped_.exchange(false) || must_make_cells(next) ||
           (gravity_ != nullptr && gravity_->growth() > tree_growth_max);
  };
  plait::particles::StepCount count = steps_->step(now_, ask);
  if (options_.steps == Steps::equal && !is_over()) {
    take_equal_steps();
    count.next = steps_->begin(now_);
  }
  next_ = count.next;
  wants_cells_ = count.is_any;
  report.time = line_.time_at(now_);
  report.step = line_.duration(now_ - before);
  report.updated = count.active_particles;
  report.updated_here = count.active_here;
  for (const auto& worker : workers_) {
    report.density_sums += std::exchange(worker->sums, 0);
  }
  return report;
}

/// Gives all particles the shortest step that any needs.
void Simulation::Impl::take_equal_steps() {
  const auto bins = store_[step_fields_.bin];
  std::uint8_t shortest = bins.empty() ? task::longest_bin.value() : *std::ranges::min_element(bins);
  plait::comm::all_reduce(all_, std::span{&shortest, 1}, plait::comm::Minimum{}).wait();
  const double half = line_.duration(task::ticks_of(TimeBin{shortest})) / 2;
  const Gas all = gas();
  for (std::size_t i = 0; i < all.count; ++i) {
    bins[i] = shortest;
    kick(all, i, scheme_, half);
  }
}

/// After an error, messages may still be in flight: the endpoint keeps their memory.
template <class Work>
auto Simulation::guarded(Work work) {
  try {
    return work();
  } catch (...) {
    impl_->messages().keep(impl_);
    throw;
  }
}

Simulation::Simulation(plait::comm::Endpoint& messages,
                       plait::task::Scheduler& scheduler,
                       Particles& store,
                       const GasFields& fields,
                       const SimulationOptions& options)
    : impl_{std::make_shared<Impl>(messages, scheduler, store, fields, options)} {
  guarded([this] { impl_->start(); });
}

Simulation::~Simulation() = default;

StepReport Simulation::step() {
  return guarded([this] { return impl_->step(); });
}
bool Simulation::is_over() const noexcept {
  return impl_->is_over();
}
void Simulation::synchronise() {
  guarded([this] { impl_->synchronise(); });
}
StepState Simulation::save() {
  return guarded([this] { return impl_->save(); });
}

}  // namespace sph
