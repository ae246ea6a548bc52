// SPDX-License-Identifier: Apache-2.0
#include "cosmology/simulation.hpp"

#include <algorithm>
#include <cmath>

#include "plait/particles/groups/halo_shape.hpp"

#include "support/agree.hpp"

namespace cosmology {

namespace particles = plait::particles;

namespace {

particles::Box box_of(const Parameters& parameters) {
  return {{0, 0, 0}, {parameters.box, parameters.box, parameters.box}};
}

std::uint64_t count_all(plait::Runtime& runtime, const Bodies& bodies) {
  std::uint64_t sum = 0;
  for (const std::uint64_t one : plait::all_gather_values(runtime.messages(), std::uint64_t{bodies.store.size()})) {
    sum += one;
  }
  return sum;
}

/// Particles along an axis, of as many in a lattice.
double along_axis(std::uint64_t count) {
  return std::cbrt(static_cast<double>(count));
}

/// The nearest even number that is not smaller.
std::uint32_t even(double number) {
  return 2 * static_cast<std::uint32_t>(std::lround(number / 2));
}

RunState completed(RunState state, std::uint64_t count) {
  constexpr std::uint32_t mesh_min = 16;
  Parameters& p = state.parameters;
  if (p.softening == 0) {
    p.softening = p.box / along_axis(count) / 25;
  }
  if (p.mesh == 0) {
    p.mesh = std::max(mesh_min, even(2 * along_axis(count)));
  }
  return state;
}

/// Whether bodies, domains and forces are as they were when the run ended that goes on.
bool is_in_place(const RunState& state, std::uint32_t ranks) {
  return state.step > 0 && state.is_in_place && state.grid == particles::cubic_grid(ranks);
}

particles::SystemOptions options_of(const plait::Runtime& runtime, const RunState& state) {
  particles::SystemOptions options{.space = {.root = box_of(state.parameters), .periodic = {true, true, true}}};
  if (is_in_place(state, runtime.rank_count())) {
    options.resumed = {.count = state.step, .cuts = state.cuts};
  }
  return options;
}

}  // namespace

Simulation::Simulation(plait::Runtime& runtime, Bodies& bodies, const RunState& state)
    : runtime_{runtime},
      bodies_{bodies},
      state_{state},
      expansion_{state.universe.expansion()},
      count_{count_all(runtime, bodies)},
      system_{runtime.messages(), runtime.scheduler(), bodies.store, options_of(runtime, state)} {
  app::refuse_too_few(runtime, "bodies", bodies.store.size(), std::max(2U, runtime.rank_count()));
  state_ = completed(state, count_);
  add_gravity();
  system_.record_to(runtime.trace());
  system_.before("kick, drift", [this](Particles& store, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      store[bodies_.momentum][i] += first_kick_ * store[bodies_.acceleration][i];
      store.positions()[i] += drift_ * store[bodies_.momentum][i];
    }
  });
  system_.after("kick", [this](Particles& store, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      store[bodies_.momentum][i] += second_kick_ * store[bodies_.acceleration][i];
    }
  });
  if (!is_in_place(state_, runtime.rank_count())) {
    system_.distribute();
    app::as_agreed([&] { system_.update(); });
  }
  last_ = mine();
}

void Simulation::add_gravity() {
  const Parameters& p = state_.parameters;
  const auto mesh = static_cast<plait::fft::Index>(p.mesh);
  app::as_agreed([&] {
    system_.add(particles::make_periodic_gravity(runtime_.messages(),
                                                 runtime_.scheduler(),
                                                 {.tree = {.charge = bodies_.mass,
                                                           .acceleration = bodies_.acceleration,
                                                           .potential = bodies_.potential,
                                                           .theta = p.theta,
                                                           .softening = p.softening,
                                                           .coupling = gravity},
                                                  .box = box_of(p),
                                                  .mesh = {mesh, mesh, mesh},
                                                  .effort = plait::fft::Effort::estimate}));  // for equal restarts
  });
}

RunState Simulation::whole_state() {
  RunState whole = state_;
  whole.grid = system_.domain().grid();
  whole.cuts = system_.gather_cuts();
  return whole;
}

void Simulation::step(double scale_factor) {
  const double begin = state_.scale_factor;
  const double middle = std::sqrt(begin * scale_factor);
  first_kick_ = expansion_.kick(begin, middle);
  drift_ = expansion_.drift(begin, scale_factor);
  second_kick_ = expansion_.kick(middle, scale_factor);
  system_.step();
  state_.scale_factor = scale_factor;
  ++state_.step;
  // d(K + W) / d(ln a) = -(2 K + W).
  const Energies now = mine();
  taken_ += std::log(scale_factor / begin) / 2 * (2 * (last_.kinetic + now.kinetic) + last_.potential + now.potential);
  last_ = now;
}

Energies Simulation::mine() const {
  const double a = state_.scale_factor;
  Energies sum;
  for (std::size_t i = 0; i < bodies_.store.size(); ++i) {
    const Vector& momentum = bodies_.store[bodies_.momentum][i];
    const double mass = bodies_.store[bodies_.mass][i];
    sum.kinetic += mass * dot(momentum, momentum) / (2 * a * a);
    sum.potential += mass * bodies_.store[bodies_.potential][i] / (2 * a);
  }
  return sum;
}

Energies Simulation::energies() {
  Energies mine = last_;
  mine.sum = last_.kinetic + last_.potential + taken_;
  Energies all;
  for (const Energies& one : plait::all_gather_values(runtime_.messages(), mine)) {
    all.kinetic += one.kinetic;
    all.potential += one.potential;
    all.sum += one.sum;
  }
  return all;
}

particles::PowerSpectrum Simulation::power_spectrum() {
  const auto mesh = static_cast<plait::fft::Index>(std::max(16U, even(2 * along_axis(count_))));
  particles::PowerSpectrum spectrum = particles::measure_power_spectrum(
      runtime_.messages(),
      runtime_.scheduler(),
      bodies_.store,
      {.mass = bodies_.mass, .box = box_of(state_.parameters), .mesh = {mesh, mesh, mesh}});
  const auto shells = std::min(spectrum.power.size(), static_cast<std::size_t>(along_axis(count_) / 2 + 0.5));
  spectrum.wave_number.resize(shells);
  spectrum.power.resize(shells);
  spectrum.waves.resize(shells);
  return spectrum;
}

particles::FriendGroups Simulation::groups() {
  const particles::Space space{box_of(state_.parameters), {true, true, true}};
  particles::FriendGroups found =
      particles::friends_of_friends(runtime_.messages(),
                                    runtime_.scheduler(),
                                    bodies_.store,
                                    {.mass = bodies_.mass,
                                     .velocity = bodies_.momentum,
                                     .space = space,
                                     .linking_length = 0.2 * state_.parameters.box / along_axis(count_)});
  // Comoving distances times momenta are physical distances times peculiar velocities: angular momenta are physical.
  const double a = state_.scale_factor;
  for (particles::FriendGroup& group : found.groups) {
    group.velocity = (1 / a) * group.velocity;
    particles::SymmetricTensor& d = group.dispersion;
    for (double* const square : {&d.xx, &d.yy, &d.zz, &d.yz, &d.xz, &d.xy}) {
      *square /= a * a;
    }
  }
  return found;
}

std::vector<double> Simulation::half_mass_radii(const particles::FriendGroups& groups) {
  return particles::half_mass_radii(runtime_.messages(),
                                    bodies_.store,
                                    {.mass = bodies_.mass, .space = {box_of(state_.parameters), {true, true, true}}},
                                    groups.of_particle,
                                    groups.groups);
}

}  // namespace cosmology
