// SPDX-License-Identifier: Apache-2.0
#include "sph/parallel/simulation.hpp"

#include <algorithm>
#include <utility>

#include "sph/parallel/detail/simulation_impl.hpp"

namespace sph {

namespace {

namespace task = plait::task;
using plait::particles::Search;
using plait::particles::ShortRangeOptions;

/// A block of sources is complete for smoothing lengths that grow by this factor.
constexpr double block_growth = 1.05;

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

plait::particles::SystemOptions system_options(const GasFields& fields, const SimulationOptions& options) {
  return {.space = options.space,
          .resumed = options.resumed,
          .cells = {.reach = fields.smoothing,
                    .reach_factor = support_ratio(options.scheme.kernel),
                    .kinds = {gas_kind},
                    .sizes = options.cells}};
}

/// The shortest step that particles may take.
double shortest_step(const SimulationOptions& options) {
  const plait::TimeLine line{options.begin, options.end};
  return std::max(options.step_min, line.duration(task::ticks_of(task::shortest_bin)));
}

}  // namespace

Simulation::Impl::Impl(plait::comm::Endpoint& messages,
                       plait::task::Scheduler& scheduler,
                       Particles& store,
                       const GasFields& fields,
                       const SimulationOptions& options)
    : store_{store},
      fields_{fields},
      options_{options},
      density_search_{density_search(fields, scheme_)},
      force_search_{force_search(fields, scheme_)},
      shortest_step_{shortest_step(options)},
      system_{messages, scheduler, store, system_options(fields, options)} {
  for (std::uint32_t worker = 0; worker < scheduler.worker_count(); ++worker) {
    workers_.push_back(std::make_unique<SphWorker>(density_search_, force_search_));
  }
  using plait::particles::StepLengths;
  system_.take_steps({.lengths = options.steps == Steps::equal ? StepLengths::equal : StepLengths::individual,
                      .begin = options.begin,
                      .end = options.end,
                      .step_max = options.step_max,
                      .step_min = options.step_min},
                     options.step_fields);
  system_.limit_steps_by([this](const Particles&, std::span<const Particles::Index> places, std::span<double> longest) {
    limit_steps(places, longest);
  });
  system_.integrate(integrator());
  add_stages();
  if (scheme_.gravity.constant != 0) {
    add_gravity();
  }
  system_.update();
}

void Simulation::Impl::add_gravity() {
  system_.add_long_range({.charge = fields_.mass,
                          .acceleration = fields_.gravity,
                          .potential = fields_.potential,
                          .theta = scheme_.gravity.theta,
                          .softening = scheme_.gravity.softening,
                          .coupling = scheme_.gravity.constant,
                          .leaf_bodies_max = plait::particles::CellsOfSystem{}.tree_particles,
                          .velocity = fields_.velocity_now});
}

plait::particles::Integrator Simulation::Impl::integrator() {
  using plait::particles::Kick;
  plait::particles::Integrator all{.velocity = fields_.velocity, .drift = {}, .kick = {}};
  all.drift = [this](Particles&, std::size_t first, std::size_t last, double duration) {
    const Gas gas = this->gas();
    for (std::size_t i = first; i < last; ++i) {
      drift(gas, i, scheme_, duration);
    }
  };
  all.kick = [this](Particles&, std::span<const Kick> kicks) {
    const Gas gas = this->gas();
    for (const Kick& one : kicks) {
      kick(gas, one.place, scheme_, one.duration);
    }
  };
  all.settle = [this](Particles&, std::span<const Kick> kicked) {
    const Gas gas = this->gas();
    for (const Kick& one : kicked) {
      settle(gas, one.place);
    }
  };
  all.predicted = density_results();
  all.predicted.insert(all.predicted.end(), {fields_.velocity_now, fields_.energy_now});
  all.forces = {fields_.gravity};
  return all;
}

void Simulation::Impl::limit_steps(std::span<const Particles::Index> places, std::span<double> longest) {
  const Gas gas = this->gas();
  for (std::size_t k = 0; k < places.size(); ++k) {
    longest[k] = std::min(longest[k], time_step(gas, places[k], scheme_, shortest_step_));
  }
}

StepReport Simulation::Impl::step() {
  const plait::particles::StepResult result = system_.step();
  StepReport report{.time = result.time,
                    .step = result.step,
                    .updated = result.updated,
                    .updated_here = result.updated_here,
                    .made_cells = result.made_cells};
  for (const auto& worker : workers_) {
    report.density_sums += std::exchange(worker->sums, 0);
  }
  return report;
}

Simulation::Simulation(plait::comm::Endpoint& messages,
                       plait::task::Scheduler& scheduler,
                       Particles& store,
                       const GasFields& fields,
                       const SimulationOptions& options)
    : impl_{std::make_unique<Impl>(messages, scheduler, store, fields, options)} {}

Simulation::~Simulation() = default;

StepReport Simulation::step() {
  return impl_->step();
}
bool Simulation::is_over() const noexcept {
  return impl_->system().is_over();
}
void Simulation::synchronise() {
  impl_->system().synchronise();
}
plait::particles::SavedSteps Simulation::save() {
  return impl_->system().save_steps();
}

}  // namespace sph
