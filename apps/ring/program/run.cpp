// SPDX-License-Identifier: Apache-2.0
#include "ring/program/run.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/particles/hdf5/mpi/snapshot_together.hpp"

#include "support/agree.hpp"

namespace ring {

namespace hdf5 = plait::particles::hdf5;
using plait::Error;
using plait::ErrorCode;
using plait::particles::is_text;
using std::filesystem::path;

namespace {

/// Calls `visit(key, value)` for every member of the state: the list of the values in a file.
template <class State, class Visit>
void visit_state(State& state, Visit visit) {
  visit("Time", state.time);
  visit("Step", state.step);
  visit("EnergyAtBegin", state.energy_begin);
  visit("DissipatedEnergy", state.contacts.dissipated);
  visit("DissipationRate", state.contacts.dissipation_rate);
  visit("SpringEnergy", state.contacts.spring);
  visit("CentralMass", state.parameters.central_mass);
  visit("TimeStep", state.parameters.time_step);
  visit("Theta", state.parameters.theta);
  visit("MultipoleOrder", state.parameters.order);
  visit("Softening", state.parameters.softening);
  visit("CollisionRadius", state.parameters.collision_radius);
  visit("Restitution", state.parameters.restitution);
  visit("ContactSteps", state.parameters.contact_steps);
  visit("LeafBodiesMax", state.parameters.leaf_bodies_max);
  visit("GroupBodiesMax", state.parameters.group_bodies_max);
  visit("DomainsInAzimuth", state.grid.x);
  visit("DomainsInRadius", state.grid.y);
  visit("DomainsInHeight", state.grid.z);
  visit("DomainCuts", state.cuts);
}
/// The same for values that files of earlier versions lack.
template <class State, class Visit>
void visit_newer_state(State& state, Visit visit) {
  visit("ForceError", state.parameters.force_error);
}
constexpr const char* state_group = "RunState";

/// Bodies are dark matter in files, in units in which the central mass is Saturn's and a length 1e5 km.
hdf5::SnapshotLayout layout_of(const Bodies& bodies) {
  return {.units = hdf5::units_of_gravity(1e10, 5.6834e29),
          .datasets = {{"Velocities", bodies.velocity, {.dimension = hdf5::velocity_dimension}},
                       {"Accelerations", bodies.acceleration, {.dimension = hdf5::acceleration_dimension}},
                       {"Masses", bodies.mass, {.dimension = hdf5::mass_dimension, .valid = hdf5::Valid::positive}},
                       {"Potentials", bodies.potential, {.dimension = hdf5::specific_energy_dimension}},
                       {"Costs", Particles::cost, {.description = "Interactions that the last force took"}}},
          .kinds = hdf5::kind_bit(1)};
}

hdf5::SnapshotHeader header_of(const RunState& state) {
  hdf5::SnapshotHeader header{.time = state.time, .box = {4, 4, 4}, .code = "plait-ring", .run_name = "ring"};
  const auto set = [&](const char* key, const auto& value) { header.groups[state_group].set(key, value); };
  visit_state(state, set);
  visit_newer_state(state, set);
  return header;
}

/// The share of `rank` of the bodies in a file, and the state.
RunState read(const path& file, Bodies& bodies, std::uint32_t rank = 0, std::uint32_t ranks = 1) {
  RunState state;
  if (is_text(file)) {
    state.time = plait::particles::read_text(file, {bodies.mass, bodies.velocity}, bodies.store, rank, ranks).value();
    std::ranges::fill(bodies.store[Particles::kind], std::uint8_t{1});
  } else {
    const auto info = hdf5::read_snapshot(file, layout_of(bodies), bodies.store, rank, ranks).value();
    const auto& values = info.group(state_group);
    visit_state(state, [&](const char* key, auto& value) { values.get(key, value); });
    visit_newer_state(state, [&](const char* key, auto& value) {
      if (values.contains(key)) {
        values.get(key, value);
      }
    });
    state.is_in_place = info.is_of_ranks(ranks);
  }
  return state;
}

void write(const path& file, const RunState& state, const Bodies& bodies) {
  const plait::particles::TextColumns columns{bodies.mass, bodies.velocity};
  const std::uint64_t bytes =
      is_text(file) ? plait::particles::write_text(file, state.time, columns, bodies.store).value()
                    : hdf5::write_snapshot(file, header_of(state), layout_of(bodies), bodies.store).value();
  fmt::print("{}: {} bodies, {:.1f} MB\n", file.string(), bodies.store.size(), static_cast<double>(bytes) * 1e-6);
}

void check(const Parameters& p) {
  const auto is_length = [](double value) { return std::isfinite(value) && value >= 0; };
  app::require(std::isfinite(p.time_step) && p.time_step > 0, "--time-step", "a positive number");
  app::require(p.theta >= 0 && p.theta < 2, "--theta", "a number from 0 (direct sum) to below 2");
  app::require(
      std::isfinite(p.force_error) && p.force_error >= 0, "--force-error", "a positive number, or 0 for --theta");
  app::require(p.order == Order::monopole || p.order == Order::quadrupole, "--order", "monopole or quadrupole");
  app::require(is_length(p.softening), "--softening", "a length of 0 or more");
  app::require(is_length(p.collision_radius), "--collision-radius", "a length of 0 or more");
  app::require(p.restitution > 0 && p.restitution <= 1, "--restitution", "above 0, at most 1");
  app::require(std::isfinite(p.contact_steps) && p.contact_steps >= 2, "--contact-steps", "at least 2");
  app::require(is_length(p.central_mass), "--central-mass", "0 or more");
}

}  // namespace

void make_initial_condition(const RingShape& shape, const path& output) {
  Bodies bodies;
  make_ring(shape, bodies);
  RunState state;
  state.parameters.central_mass = shape.central_mass;
  write(output, state, bodies);
}

void convert(const path& input, const path& output) {
  if (is_text(input) == is_text(output)) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("{} and {} have the same format: one must end in .txt", input.string(), output.string())};
  }
  Bodies bodies;
  const RunState state = read(input, bodies);
  write(output, state, bodies);
}

void run_ring(plait::Runtime& runtime, const RunSettings& settings) {
  const app::SnapshotFolder folder{"ring", settings.steps};
  Bodies bodies;
  RunState start;
  std::uint64_t steps = 0;
  app::agree(runtime, [&] {
    start = read(settings.input, bodies, runtime.self().value(), runtime.rank_count());
    for (const auto& change : settings.changes) {
      change(start.parameters);
    }
    check(start.parameters);
    (void)plait::particles::make_grid(runtime.rank_count(), settings.sharing.radial, settings.sharing.vertical);
    steps = app::steps_wanted(settings.steps, start.time, start.parameters.time_step, start.time + 2 * M_PI);
    if (runtime.self() == plait::Rank{0}) {
      folder.prepare(settings.steps);
    }
  });
  Simulation simulation{runtime, bodies, start, settings.sharing};
  app::DriftMonitor monitor{runtime, start.energy_begin};
  const auto diagnose = [&] {
    const Diagnostics now = simulation.diagnose();
    monitor.note({simulation.state().step, simulation.state().time, now.energy, now.angular_momentum});
  };
  const auto write = [&] {
    RunState state = simulation.whole_state();
    state.energy_begin = monitor.energy_begin();
    plait::barrier(runtime.messages());  // HDF5 calls MPI itself: no message may be pending
    app::agree(runtime, [&, file = folder.file(state.step)] {
      (void)hdf5::write_snapshot(file, header_of(state), layout_of(bodies), bodies.store, MPI_COMM_WORLD).value();
    });
  };
  app::run_steps(runtime, steps, settings.steps, {[&] { simulation.step(); }, diagnose, write});
  app::print_times(runtime, simulation.take_times());
  if (runtime.self() == plait::Rank{0}) {
    fmt::print("snapshots are in {}\n", folder.folder.string());
  }
}

}  // namespace ring
