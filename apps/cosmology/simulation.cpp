// SPDX-License-Identifier: Apache-2.0
#include "cosmology/simulation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

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
  if (state.steps.length == 0) {
    state.steps = {state.scale_factor, state.step, p.step_max};
  }
  return state;
}

// Individual steps have a time line of the logarithm of the scale factor, from the begin of the grid. It has room for
// so many of the grid's steps that no run reaches its end.
constexpr std::uint64_t steps_in_line = std::uint64_t{1} << 20U;
constexpr plait::task::Ticks ticks_in_step = plait::task::line_ticks / steps_in_line;
constexpr plait::task::TimeBin bin_of_step{std::countr_zero(ticks_in_step) - 1};
static_assert(plait::task::ticks_of(bin_of_step) == ticks_in_step);

double end_of_line(const StepGrid& grid) {
  return grid.length * static_cast<double>(steps_in_line);
}

particles::SavedSteps saved_steps(const RunState& state, bool is_individual) {
  if (!is_individual) {
    return {.count = state.step, .cuts = state.cuts};
  }
  return {.lengths = particles::StepLengths::individual,
          .end = end_of_line(state.steps),
          .now = own_steps_now(state),
          .slow = bin_of_step,
          .count = state.step,
          .cuts = state.cuts};
}

particles::SystemOptions options_of(const plait::Runtime& runtime, const Bodies& bodies, const RunState& state) {
  particles::SystemOptions options{.space = {.root = box_of(state.parameters), .periodic = {true, true, true}}};
  if (is_in_place(state, runtime.rank_count())) {
    options.resumed = saved_steps(state, bodies.own.has_value());
  }
  return options;
}

}  // namespace

bool is_in_place(const RunState& state, std::uint32_t ranks) {
  return state.step > 0 && state.is_in_place && state.grid == particles::cubic_grid(ranks);
}

plait::task::Ticks own_steps_now(const RunState& state) {
  return (state.step - state.steps.first) * ticks_in_step;
}

Simulation::Simulation(plait::Runtime& runtime, Bodies& bodies, const RunState& state)
    : runtime_{runtime},
      bodies_{bodies},
      state_{state},
      expansion_{state.universe.expansion()},
      count_{count_all(runtime, bodies)},
      system_{runtime.messages(), runtime.scheduler(), bodies.store, options_of(runtime, bodies, state)} {
  app::refuse_too_few(runtime, "bodies", bodies.store.size(), std::max(2U, runtime.rank_count()));
  state_ = completed(state, count_);
  if (bodies_.own && !is_in_place(state_, runtime.rank_count())) {  // their time line begins now
    state_.steps = {state_.scale_factor, state_.step, state_.steps.length};
  }
  app::as_agreed([&] { bodies_.own ? add_own_steps() : add_equal_steps(); });
  system_.record_to(runtime.trace());
  if (!is_in_place(state_, runtime.rank_count())) {
    system_.distribute();
    app::as_agreed([&] { system_.update(); });
    sum_parts();
  }
  last_ = mine();
}

particles::PeriodicGravityOptions Simulation::gravity_options() const {
  const Parameters& p = state_.parameters;
  const auto mesh = static_cast<plait::fft::Index>(p.mesh);
  return {.tree = {.charge = bodies_.mass,
                   .acceleration = bodies_.acceleration,
                   .potential = bodies_.potential,
                   .theta = p.theta,
                   .softening = p.softening,
                   .coupling = gravity},
          .box = box_of(p),
          .mesh = {mesh, mesh, mesh},
          .effort = plait::fft::Effort::estimate};  // for equal restarts
}

void Simulation::add_equal_steps() {
  system_.add(particles::make_periodic_gravity(runtime_.messages(), runtime_.scheduler(), gravity_options()));
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
}

void Simulation::add_own_steps() {
  const OwnStepFields& own = *bodies_.own;
  particles::PeriodicGravityOptions options = gravity_options();
  options.tree.acceleration = own.near_acceleration;
  options.tree.potential = own.near_potential;
  options.tree.leaf_bodies_max = particles::CellsOfSystem{}.tree_particles;
  options.tree.velocity = bodies_.momentum;
  system_.add_long_range(particles::periodic_short_range(options));
  options.tree.acceleration = own.mesh_acceleration;
  options.tree.potential = own.mesh_potential;
  system_.add_slow_force({.sum = particles::make_periodic_mesh(runtime_.messages(), runtime_.scheduler(), options),
                          .results = {own.mesh_acceleration, own.mesh_potential},
                          .forces = {own.mesh_acceleration},
                          .kick = [momentum = bodies_.momentum, force = own.mesh_acceleration](
                                      Particles& store, std::span<const particles::Kick> kicks) {
                            for (const particles::Kick& kick : kicks) {
                              store[momentum][kick.place] += kick.duration * store[force][kick.place];
                            }
                          }});
  const auto scale_factor = [begin = state_.steps.scale_factor](double time) { return begin * std::exp(time); };
  particles::Integrator motion =
      particles::leapfrog({.velocity = bodies_.momentum, .acceleration = own.near_acceleration});
  motion.settle = [momentum = bodies_.momentum, now = own.momentum_now](Particles& store,
                                                                        std::span<const particles::Kick> kicked) {
    for (const particles::Kick& kick : kicked) {
      store[now][kick.place] = store[momentum][kick.place];
    }
  };
  motion.drift_duration = [scale_factor, this](double from, double to) {
    return expansion_.drift(scale_factor(from), scale_factor(to));
  };
  motion.kick_duration = [scale_factor, this](double from, double to) {
    return expansion_.kick(scale_factor(from), scale_factor(to));
  };
  system_.integrate(std::move(motion));
  system_.limit_steps_by([this](const Particles&, std::span<const Particles::Index> places, std::span<double> longest) {
    limit_steps(places, longest);
  });
  system_.take_steps({.lengths = particles::StepLengths::individual,
                      .end = end_of_line(state_.steps),
                      .step_max = state_.steps.length},
                     own.steps);
}

void Simulation::limit_steps(std::span<const Particles::Index> places, std::span<double> longest) const {
  const double a = state_.steps.scale_factor * std::exp(system_.time());
  const double rate = expansion_.rate(a);
  const double length2 = 2 * state_.parameters.accuracy * a * a * a * state_.parameters.softening;
  const Particles& store = bodies_.store;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const Vector near = store[bodies_.own->near_acceleration][places[k]];
    const double pull = length(near + store[bodies_.own->mesh_acceleration][places[k]]);
    longest[k] = std::min(longest[k], rate * std::sqrt(length2 / pull));
  }
}

void Simulation::sum_parts() {
  if (!bodies_.own) {
    return;
  }
  const OwnStepFields& own = *bodies_.own;
  Particles& store = bodies_.store;
  for (std::size_t i = 0; i < store.size(); ++i) {
    store[bodies_.acceleration][i] = store[own.near_acceleration][i] + store[own.mesh_acceleration][i];
    store[bodies_.potential][i] = store[own.near_potential][i] + store[own.mesh_potential][i];
  }
}

RunState Simulation::whole_state() {
  if (bodies_.own) {
    (void)system_.save_steps();
  }
  RunState whole = state_;
  whole.grid = system_.domain().grid();
  whole.cuts = system_.gather_cuts();
  return whole;
}

void Simulation::step(double scale_factor) {
  const double begin = state_.scale_factor;
  if (bodies_.own) {
    plait::expect(std::abs(scale_factor / state_.steps.begin_of(state_.step + 1) - 1) < 1e-9,
                  "individual steps have the ends of the grid");
    run_own_steps();
  } else {
    const double middle = std::sqrt(begin * scale_factor);
    first_kick_ = expansion_.kick(begin, middle);
    drift_ = expansion_.drift(begin, scale_factor);
    second_kick_ = expansion_.kick(middle, scale_factor);
    system_.step();
    updates_ += count_;
  }
  ++steps_;
  state_.scale_factor = scale_factor;
  ++state_.step;
  // d(K + W) / d(ln a) = -(2 K + W).
  const Energies now = mine();
  taken_ += std::log(scale_factor / begin) / 2 * (2 * (last_.kinetic + now.kinetic) + last_.potential + now.potential);
  last_ = now;
}

void Simulation::run_own_steps() {
  const double end = state_.steps.length * static_cast<double>(state_.step + 1 - state_.steps.first);
  while (system_.time() < end) {
    updates_ += system_.step().updated;
  }
  sum_parts();
}

Energies Simulation::mine() const {
  const double a = state_.scale_factor;
  Energies sum;
  for (std::size_t i = 0; i < bodies_.store.size(); ++i) {
    const Vector& momentum = bodies_.store[bodies_.momentum_now()][i];
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

double Simulation::updates_a_step() const {
  return steps_ > 0 ? static_cast<double>(updates_) / (static_cast<double>(steps_) * static_cast<double>(count_)) : 1;
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
                                     .velocity = bodies_.momentum_now(),
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
