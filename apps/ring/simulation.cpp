// SPDX-License-Identifier: Apache-2.0
#include "ring/simulation.hpp"

#include <algorithm>
#include <cmath>

#include "support/agree.hpp"

namespace ring {

namespace particles = plait::particles;

namespace {

/// Whether bodies and domains are as they were when the run ended that goes on.
bool is_in_place(const RunState& state, const particles::DomainGrid& grid) {
  return state.step > 0 && state.is_in_place && state.grid == grid;
}

particles::SystemOptions options_of(const plait::Runtime& runtime, const RunState& state, const Sharing& sharing) {
  particles::SystemOptions options;
  options.space.coordinates = particles::Coordinates::cylindrical;
  options.grid = particles::make_grid(runtime.rank_count(), sharing.radial, sharing.vertical);
  options.steps_between_decompositions = sharing.steps_between;
  if (options.grid == state.grid) {
    options.cuts = state.cuts;
  }
  if (is_in_place(state, options.grid)) {
    options.resumed = {.count = state.step, .cuts = state.cuts};
  }
  return options;
}

}  // namespace

Simulation::Simulation(plait::Runtime& runtime, Bodies& bodies, const RunState& state, const Sharing& sharing)
    : runtime_{runtime},
      bodies_{bodies},
      state_{state},
      system_{runtime.messages(), runtime.scheduler(), bodies.store, options_of(runtime, state, sharing)},
      gravity_{system_.add_long_range(gravity_with_contacts())} {
  system_.record_to(runtime.trace());
  system_.after("pull of the centre",
                [this](Particles&, std::size_t first, std::size_t last) { attract_to_centre(first, last); });
  // Dampers of contacts depend on velocity, which is predicted at the time of the force.
  system_.integrate(particles::leapfrog(
      {.velocity = bodies.velocity, .acceleration = bodies.acceleration, .velocity_now = predicted_}));
  system_.take_steps({.step = state.parameters.time_step});
  if (runtime.self() != plait::Rank{0}) {
    state_.contacts = {};  // what is given is of all ranks
  }
  app::refuse_too_few(runtime, "bodies", bodies.store.size(), std::max(2U, runtime.rank_count()));
  if (!is_in_place(state, system_.domain().grid())) {
    system_.distribute();
  }
  app::agree(runtime, [&] { particles::refuse_equal_places(bodies.store, "the ring"); });
  if (state.step == 0) {
    system_.update();
    attract_to_centre(0, bodies.store.size());
    state_.contacts.advance(gravity_.near_sums(), 0);
  }
}

particles::LongRangeOptions Simulation::gravity_with_contacts() {
  const Parameters& p = state_.parameters;
  particles::LongRangeOptions gravity{.charge = bodies_.mass,
                                      .acceleration = bodies_.acceleration,
                                      .potential = bodies_.potential,
                                      .theta = p.theta,
                                      .force_error = p.force_error,
                                      .order = p.order,
                                      .softening = p.softening,
                                      .near_radius = p.collision_radius,
                                      .near_sums = particles::contact_sums,
                                      .leaf_bodies_max = p.leaf_bodies_max,
                                      .group_bodies_max = p.group_bodies_max};
  if (p.collision_radius > 0) {
    predicted_ = bodies_.store.add_field<Vector>("predicted velocity");
    std::ranges::copy(bodies_.store[bodies_.velocity], bodies_.store[*predicted_].begin());
    const particles::ContactLaw law{{.radius = p.collision_radius,
                                     .period = p.contact_steps * p.time_step,
                                     .restitution = p.restitution,
                                     .softening = p.softening}};
    gravity.near =
        particles::contacts(law, bodies_.store, {bodies_.mass, *predicted_, bodies_.acceleration, bodies_.potential});
    gravity.travels = {*predicted_};
  }
  return gravity;
}

void Simulation::attract_to_centre(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    const Vector& p = bodies_.store.positions()[i];
    const double r2 = dot(p, p);
    bodies_.store[bodies_.acceleration][i] -= (state_.parameters.central_mass / (r2 * std::sqrt(r2))) * p;
  }
}

void Simulation::step() {
  system_.step();
  ++state_.step;
  state_.time += state_.parameters.time_step;
  state_.contacts.advance(gravity_.near_sums(), state_.parameters.time_step);
}

RunState Simulation::whole_state() {
  RunState whole = state_;
  whole.contacts = {};
  for (const auto& one : plait::all_gather_values(runtime_.messages(), state_.contacts)) {
    whole.contacts += one;
  }
  whole.grid = system_.domain().grid();
  whole.cuts = system_.gather_cuts();
  return whole;
}

Diagnostics Simulation::diagnose() {
  const auto sum = particles::conserved(bodies_.store, {bodies_.mass, bodies_.velocity, bodies_.potential});
  Diagnostics mine{sum.kinetic + sum.potential + state_.contacts.spring + state_.contacts.dissipated,
                   sum.angular_momentum.z};
  for (std::size_t i = 0; i < bodies_.store.size() && state_.parameters.central_mass > 0; ++i) {
    mine.energy -=
        bodies_.store[bodies_.mass][i] * state_.parameters.central_mass / length(bodies_.store.positions()[i]);
  }
  Diagnostics all;
  for (const Diagnostics& one : plait::all_gather_values(runtime_.messages(), mine)) {
    all.energy += one.energy;
    all.angular_momentum += one.angular_momentum;
  }
  return all;
}

}  // namespace ring
