// SPDX-License-Identifier: Apache-2.0
#include "cosmology/program/run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/particles/hdf5/mpi/snapshot_together.hpp"

#include "cosmology/program/tables.hpp"
#include "cosmology/simulation.hpp"
#include "support/agree.hpp"

namespace cosmology {

namespace hdf5 = plait::particles::hdf5;
using plait::Error;
using plait::ErrorCode;
using std::filesystem::path;

namespace {

constexpr const char* state_group = "RunState";
constexpr hdf5::Units units{.length = centimetres, .mass = grams, .time = seconds};

/// Calls `visit(key, value)` for each value in files of this program, beside the universe.
template <class State, class Visit>
void visit_state(State& state, Visit visit) {
  visit("Step", state.step);
  visit("LongestStep", state.parameters.step_max);
  visit("Theta", state.parameters.theta);
  visit("Softening", state.parameters.softening);
  visit("Mesh", state.parameters.mesh);
}
/// The same for values that files of earlier versions lack.
template <class State, class Visit>
void visit_newer_state(State& state, Visit visit) {
  visit("StepsFromScaleFactor", state.steps.scale_factor);
  visit("StepsFromStep", state.steps.first);
  visit("StepLength", state.steps.length);
  visit("DomainsAlongX", state.grid.x);
  visit("DomainsAlongY", state.grid.y);
  visit("DomainsAlongZ", state.grid.z);
  visit("DomainCuts", state.cuts);
  visit("KindOfSteps", state.kind);
  visit("Accuracy", state.parameters.accuracy);
}

/// Adds the state of individual steps: all particles begin one.
void add_own_steps(const Bodies& bodies, hdf5::SnapshotLayout& layout) {
  if (!bodies.own) {
    return;
  }
  using hdf5::Absent;
  layout.datasets.push_back({"KickedMomenta",
                             bodies.momentum,
                             {.dimension = hdf5::velocity_dimension,
                              .description = "a^2 dx/dt after the kick by half of the next step",
                              .absent = Absent::zero,
                              .scale_exponent = -1}});
  layout.datasets.push_back({"MeshAccelerations",
                             bodies.own->mesh_acceleration,
                             {.dimension = hdf5::acceleration_dimension,
                              .description = "Accelerations by the mesh, comoving",
                              .absent = Absent::zero,
                              .scale_exponent = -2}});
  layout.datasets.push_back(
      {"TimeBins", bodies.own->steps.bin, {.description = "Of time steps", .absent = Absent::zero}});
}

hdf5::SnapshotLayout layout_to_read(const Bodies& bodies, double file_length) {
  hdf5::SnapshotLayout layout{
      .units = units,
      .datasets =
          {{"Velocities", bodies.peculiar, {.dimension = hdf5::velocity_dimension}},
           {"Masses",
            bodies.mass,
            {.dimension = hdf5::mass_dimension, .absent = hdf5::Absent::mass_table, .valid = hdf5::Valid::positive}},
           {"ComovingMomenta",
            bodies.momentum_now(),
            {.dimension = hdf5::velocity_dimension, .absent = hdf5::Absent::zero}},
           {"ComovingAccelerations",
            bodies.acceleration,
            {.dimension = hdf5::acceleration_dimension, .absent = hdf5::Absent::zero}},
           {"Potentials",
            bodies.potential,
            {.dimension = hdf5::specific_energy_dimension, .absent = hdf5::Absent::zero}},
           {"Costs", Particles::cost, {.absent = hdf5::Absent::zero}}},
      .kinds = hdf5::kind_bit(1),
      .is_comoving = true,
      .file_units = hdf5::Units{.length = centimetres * file_length, .mass = grams, .time = seconds * file_length}};
  add_own_steps(bodies, layout);
  return layout;
}

hdf5::SnapshotLayout layout_to_write(const Bodies& bodies) {
  hdf5::SnapshotLayout layout{
      .units = units,
      .datasets = {
          {"Velocities",
           bodies.peculiar,
           {.dimension = hdf5::velocity_dimension, .description = "Peculiar velocities, a dx/dt"}},
          {"ComovingMomenta",
           bodies.momentum_now(),
           {.dimension = hdf5::velocity_dimension, .description = "a^2 dx/dt", .scale_exponent = -1}},
          {"Masses", bodies.mass, {.dimension = hdf5::mass_dimension}},
          {"Potentials", bodies.potential, {.dimension = hdf5::specific_energy_dimension, .scale_exponent = -1}},
          {"ComovingAccelerations",
           bodies.acceleration,
           {.dimension = hdf5::acceleration_dimension,
            .description = "Accelerations by gravity, comoving",
            .scale_exponent = -2}},
          {"FOFGroupIDs",
           bodies.group,
           {.description = "Groups by friends of friends: the smallest id in each; 2^64 - 1 in none",
            .valid = hdf5::Valid::any}},
          {"Costs", Particles::cost, {.description = "Of the last force or of late updates, for domains"}}}};
  add_own_steps(bodies, layout);
  return layout;
}

hdf5::SnapshotHeader header_of(const RunState& state) {
  const double edge = state.parameters.box;
  hdf5::SnapshotHeader header{.time = state.universe.expansion().time(state.scale_factor),
                              .box = {edge, edge, edge},
                              .is_periodic = true,
                              .cosmology = hdf5::Cosmology{.scale_factor = state.scale_factor,
                                                           .hubble = state.universe.hubble,
                                                           .matter = state.universe.matter,
                                                           .baryons = state.universe.baryons},
                              .code = "plait-cosmology",
                              .run_name = "cosmology"};
  const auto set = [&](const char* key, const auto& value) { header.groups[state_group].set(key, value); };
  visit_state(state, set);
  visit_newer_state(state, set);
  return header;
}

void set_peculiar_velocities(Bodies& bodies, double scale_factor) {
  std::ranges::transform(bodies.store[bodies.momentum_now()],
                         bodies.store[bodies.peculiar].begin(),
                         [=](const Vector& momentum) { return (1 / scale_factor) * momentum; });
}

/// The state in a file; what it lacks is taken from the settings.
RunState state_from(const hdf5::SnapshotInfo& info, const RunSettings& settings, std::uint32_t ranks) {
  RunState state;
  if (const std::optional<hdf5::Cosmology>& found = info.header.cosmology) {
    state.scale_factor = found->scale_factor;
    state.universe = {found->hubble, found->matter, found->baryons};
  } else if (settings.redshift) {
    state.scale_factor = 1 / (1 + *settings.redshift);
  } else {
    throw Error{ErrorCode::bad_input, fmt::format("{} has no scale factor: give --redshift", info.file)};
  }
  const Vector& box = info.header.box;
  if (!(box.x > 0) || box.x != box.y || box.x != box.z) {
    throw Error{ErrorCode::bad_input,
                fmt::format("{} has a box of {} x {} x {}, where a cube is needed", info.file, box.x, box.y, box.z)};
  }
  state.parameters.box = box.x;
  if (const auto found = info.header.groups.find(state_group); found != info.header.groups.end()) {
    const hdf5::Attributes& values = found->second;
    visit_state(state, [&](const char* key, auto& value) { values.get(key, value); });
    visit_newer_state(state, [&](const char* key, auto& value) {
      if (values.contains(key)) {
        values.get(key, value);
        state.is_in_place = info.is_of_ranks(ranks);
      }
    });
  }
  const Parameters before = state.parameters;
  for (const auto& change : settings.changes) {
    change(state);
  }
  const Parameters& now = state.parameters;
  if (now.step_max != before.step_max) {
    state.steps.length = 0;
  }
  if (now.theta != before.theta || now.softening != before.softening || now.mesh != before.mesh) {
    state.is_in_place = false;  // its forces are others
  }
  if (state.kind != settings.kind) {
    state.kind = settings.kind;
    state.is_in_place = false;
  }
  return state;
}

/// The share of this rank of the bodies in a file, and the state.
RunState read(const RunSettings& settings, Bodies& bodies, std::uint32_t rank, std::uint32_t ranks) {
  const auto info =
      hdf5::read_snapshot(settings.input, layout_to_read(bodies, settings.file_length), bodies.store, rank, ranks)
          .value();
  const RunState state = state_from(info, settings, ranks);
  const bool is_ours = info.header.groups.contains(state_group);
  const bool is_gadget = info.header.cosmology && info.header.cosmology->has_gadget_velocities;
  const double to_momentum = state.scale_factor * (is_gadget ? std::sqrt(state.scale_factor) : 1);
  const double edge = state.parameters.box;
  for (std::size_t i = 0; i < bodies.store.size(); ++i) {
    if (!is_ours) {
      bodies.store[bodies.momentum_now()][i] = to_momentum * bodies.store[bodies.peculiar][i];
    }
    Vector& place = bodies.store.positions()[i];
    place = plait::particles::Space{{{0, 0, 0}, {edge, edge, edge}}, {true, true, true}}.wrap(place);
  }
  return state;
}

void check(const RunState& state) {
  const Parameters& p = state.parameters;
  app::require(state.scale_factor > 0 && state.scale_factor < 1e3, "--redshift", "above -1");
  app::require(p.step_max > 0 && p.step_max <= 1, "--step", "above 0, at most 1");
  app::require(p.accuracy > 0 && std::isfinite(p.accuracy), "--accuracy", "a number above 0");
  app::require(p.theta >= 0 && p.theta < 2, "--theta", "a number from 0 (direct sum) to below 2");
  app::require(std::isfinite(p.softening) && p.softening >= 0, "--softening", "a length of 0 or more");
  (void)state.universe.expansion();
}

/// Refuses bodies whose mass is not that of the universe: another box, another share of matter, units over h.
void check_mass(plait::Runtime& runtime, const Bodies& bodies, const RunState& state) {
  double mine = 0;
  for (const double mass : bodies.store[bodies.mass]) {
    mine += mass;
  }
  double sum = 0;
  for (const double one : plait::all_gather_values(runtime.messages(), mine)) {
    sum += one;
  }
  const double edge = state.parameters.box;
  const double wanted = state.universe.expansion().matter_density(gravity) * edge * edge * edge;
  constexpr double tolerance = 0.02;  // constants differ among programs
  app::agree(runtime, [&] {
    if (!(std::abs(sum - wanted) < tolerance * wanted)) {
      throw Error{ErrorCode::bad_input,
                  fmt::format("the dark matter's mass is {:.4g} times that of a universe with matter {} and hubble {} "
                              "in a box of {:.6g} Mpc: other units (--file-length), another universe (--matter, "
                              "--hubble), or particles of other types in the file",
                              sum / wanted,
                              state.universe.matter,
                              state.universe.hubble,
                              edge)};
    }
  });
}

/// Sets the groups of `bodies`; returns those of all ranks, the heaviest first.
std::vector<GroupRow> find_groups(plait::Runtime& runtime, Simulation& simulation, Bodies& bodies) {
  const plait::particles::FriendGroups found = simulation.groups();
  std::ranges::copy(found.of_particle, bodies.store[bodies.group].begin());
  const std::vector<double> radii = simulation.half_mass_radii(found);
  std::vector<GroupRow> mine;
  for (std::size_t i = 0; i < radii.size(); ++i) {
    mine.push_back({found.groups[i], radii[i]});
  }
  std::vector<GroupRow> all;
  for (const plait::Bytes& bytes : plait::all_gather(runtime.messages(), std::as_bytes(std::span{mine}))) {
    const auto* const first = reinterpret_cast<const GroupRow*>(bytes.data());
    all.insert(all.end(), first, first + bytes.size() / sizeof(GroupRow));
  }
  std::ranges::sort(all, [](const GroupRow& one, const GroupRow& other) {
    return std::pair{-one.mass, one.id} < std::pair{-other.mass, other.id};
  });
  return all;
}

/// Prepares individual steps: the steps of the run that goes on, or new ones from the present momenta.
void prepare_own_steps(Bodies& bodies, const RunState& state, std::uint32_t ranks) {
  if (!bodies.own) {
    return;
  }
  Particles& store = bodies.store;
  if (!is_in_place(state, ranks)) {
    std::ranges::copy(std::as_const(store)[bodies.own->momentum_now], store[bodies.momentum].begin());
    return;
  }
  std::ranges::copy(std::as_const(store)[bodies.own->steps.bin], store[bodies.own->steps.bin_seen].begin());
  std::ranges::fill(store[bodies.own->steps.begin], own_steps_now(state));
}

/// The scale factors at the end of the steps. Keeps the steps of the run that goes on if its end is one of their ends.
std::vector<double> ends_of_steps(const RunSettings& settings, RunState& state) {
  const StepGrid anew{state.scale_factor, state.step, state.parameters.step_max};
  const auto begin_steps = [&state](const StepGrid& steps) {
    state.steps = steps;
    state.is_in_place = state.is_in_place && state.kind == StepKind::equal;  // individual ones are parts of the grid's
  };
  if (settings.steps.steps) {
    if (state.steps.length == 0) {
      begin_steps(anew);
    }
    std::vector<double> ends;
    for (std::uint64_t i = 1; i <= *settings.steps.steps; ++i) {
      ends.push_back(state.steps.begin_of(state.step + i));
    }
    return ends;
  }
  const double end = settings.steps.until.value_or(1);
  const double length = std::log(end / state.scale_factor);
  if (!(length >= 0) || length > 100) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("--until {} is not after the scale factor {:.6g} of the file", end, state.scale_factor)};
  }
  constexpr double tolerance = 1e-9;
  double count = length / state.steps.length;
  if (!(std::abs(count - std::round(count)) < tolerance * count)) {
    begin_steps(anew);
    count = std::ceil(length / anew.length - tolerance);
    state.steps.length = length / std::max(count, 1.0);
  }
  std::vector<double> ends;
  for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(std::lround(count)); ++i) {
    ends.push_back(state.steps.begin_of(state.step + i));
  }
  if (!ends.empty()) {
    ends.back() = end;
  }
  return ends;
}

/// Follows the energies since the begin of this run, and prints a line.
class EnergyMonitor {
 public:
  explicit EnergyMonitor(plait::Runtime& runtime) : runtime_{runtime} {}

  void note(const RunState& state, const Energies& now) {
    if (std::isnan(begin_)) {
      begin_ = now.sum;
    }
    const double error = (now.sum - begin_) / std::abs(now.potential);
    if (!std::isfinite(error)) {
      throw Error{ErrorCode::bad_input,
                  fmt::format("the energy is not finite at step {}: is the step too long?", state.step)};
    }
    if (runtime_.self() == plait::Rank{0}) {
      const auto name = runtime_.trace().name(plait::trace::Role::counter, "relative error of cosmic energy");
      runtime_.trace()
          .thread({}, "program")
          .counter({.name = name,
                    .time = runtime_.trace().now(),
                    .value = error,
                    .step = static_cast<std::uint32_t>(state.step)});
      fmt::print("step {:>6}  redshift {:>8.4f}  kinetic {:.6e}  potential {:+.6e}  error of cosmic energy {:+.2e}\n",
                 state.step,
                 1 / state.scale_factor - 1,
                 now.kinetic,
                 now.potential,
                 error);
      std::fflush(stdout);
    }
  }

 private:
  plait::Runtime& runtime_;
  double begin_ = std::nan("");
};

}  // namespace

void write_initial_condition(plait::Runtime& runtime, const InitialShape& shape, const path& output) {
  Bodies bodies;
  app::as_agreed([&] { make_initial_condition(runtime, shape, bodies); });
  RunState state{.scale_factor = 1 / (1 + shape.redshift), .universe = shape.universe};
  state.parameters.box = shape.box;
  set_peculiar_velocities(bodies, state.scale_factor);
  plait::barrier(runtime.messages());  // HDF5 calls MPI itself: no message may be pending
  app::agree(runtime, [&] {
    const std::uint64_t bytes =
        hdf5::write_snapshot(output, header_of(state), layout_to_write(bodies), bodies.store, MPI_COMM_WORLD).value();
    if (runtime.self() == plait::Rank{0}) {
      fmt::print("{}: {} particles at redshift {}, {:.1f} MB\n",
                 output.string(),
                 std::uint64_t{shape.particles} * shape.particles * shape.particles,
                 shape.redshift,
                 static_cast<double>(bytes) * 1e-6);
    }
  });
}

void run_cosmology(plait::Runtime& runtime, const RunSettings& settings) {
  const app::SnapshotFolder folder{"cosmology", settings.steps};
  const bool is_first = runtime.self() == plait::Rank{0};
  Bodies bodies{settings.kind};
  RunState start;
  std::vector<double> ends;
  app::agree(runtime, [&] {
    start = read(settings, bodies, runtime.self().value(), runtime.rank_count());
    check(start);
    ends = ends_of_steps(settings, start);
    prepare_own_steps(bodies, start, runtime.rank_count());
    if (is_first) {
      folder.prepare(settings.steps);
    }
  });
  check_mass(runtime, bodies, start);
  Simulation simulation{runtime, bodies, start};
  EnergyMonitor monitor{runtime};
  PowerFile power{folder.folder};
  const auto diagnose = [&] {
    monitor.note(simulation.state(), simulation.energies());
    const plait::particles::PowerSpectrum spectrum = simulation.power_spectrum();
    app::agree(runtime, [&] {
      if (is_first) {
        power.add(simulation.state(), spectrum);
      }
    });
  };
  const auto write = [&] {
    const std::vector<GroupRow> groups = find_groups(runtime, simulation, bodies);
    const RunState state = simulation.whole_state();
    set_peculiar_velocities(bodies, state.scale_factor);
    plait::barrier(runtime.messages());  // HDF5 calls MPI itself: no message may be pending
    app::agree(runtime, [&] {
      if (is_first) {
        write_groups(folder.folder / fmt::format("cosmology-groups-{:08}.txt", state.step), state, groups);
      }
      (void)hdf5::write_snapshot(
          folder.file(state.step), header_of(state), layout_to_write(bodies), bodies.store, MPI_COMM_WORLD)
          .value();
    });
  };
  auto end = ends.begin();
  app::run_steps(runtime, ends.size(), settings.steps, {[&] { simulation.step(*end++); }, diagnose, write});
  app::print_times(runtime, simulation.take_times());
  if (is_first && bodies.own) {
    fmt::print("{:.2f} updates of a particle for each step of the mesh\n", simulation.updates_a_step());
  }
  if (is_first) {
    fmt::print("snapshots and {} are in {}\n", PowerFile::name, folder.folder.string());
  }
}

}  // namespace cosmology
