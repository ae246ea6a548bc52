// SPDX-License-Identifier: Apache-2.0
#include "sph/program/files.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "support/choice.hpp"

namespace sph {

namespace {

namespace hdf5 = plait::particles::hdf5;
using plait::Error;
using plait::ErrorCode;
using plait::Result;
using plait::particles::SavedSteps;

constexpr const char* scheme_group = "HydroScheme";
constexpr const char* gravity_group = "GravityScheme";
constexpr const char* state_group = "RunState";

/// Calls `visit(key, value)` for each setting in files. Infinite ones are not written.
template <class Settings, class Visit>
void visit_scheme(Settings& scheme, Visit visit) {
  visit("Adiabatic index", scheme.gamma);
  visit("Kernel eta", scheme.eta);
  visit("Smoothing length tolerance", scheme.smoothing_tolerance);
  visit("Maximal smoothing length", scheme.smoothing_max);
  visit("CFL parameter", scheme.courant);
  visit("Viscosity", scheme.viscosity);
  visit("Viscosity decay", scheme.viscosity_decay);
  visit("Conduction maximum", scheme.conduction_max);
  visit("Conduction rise", scheme.conduction_rise);
  visit("Minimal energy", scheme.energy_min);
}
template <class Settings, class Visit>
void visit_gravity(Settings& gravity, Visit visit) {
  visit("Constant", gravity.constant);
  visit("Softening", gravity.softening);
  visit("Accuracy", gravity.accuracy);
  visit("Opening angle", gravity.theta);
  visit("Longest step", gravity.step_max);
}
auto put_into(hdf5::Attributes& group) {
  return [&group](const char* key, auto value) {
    if (std::isfinite(value)) {
      group.set(key, value);
    }
  };
}
auto get_from(const hdf5::Attributes& group) {
  return [&group](const char* key, auto& value) {
    if (std::isfinite(value) || group.contains(key)) {
      group.get(key, value);
    }
  };
}

hdf5::Attributes attributes_of(const Scheme& scheme) {
  hdf5::Attributes group;
  group.set("Scheme", std::string{std::ranges::find(scheme_names, scheme.kind, &SchemeName::kind)->name});
  group.set("Kernel function", std::string{traits_of(scheme.kernel).name});
  group.set("Kernel target N_ngb", neighbours_at(scheme.kernel, static_cast<double>(scheme.eta)));
  group.set("Shock signs",
            std::string{std::ranges::find(shock_signs_names, scheme.signs, &ShockSignsName::signs)->name});
  visit_scheme(scheme, put_into(group));
  return group;
}

/// The schemes of hydrodynamics and gravity in a file of this program.
Scheme scheme_from(const hdf5::Attributes& hydro, const hdf5::Attributes& gravity) {
  Scheme scheme;
  scheme.kind = app::find_named("the file's scheme,", hydro.get<std::string>("Scheme"), scheme_names).kind;
  scheme.kernel = app::find_named("the file's kernel,", hydro.get<std::string>("Kernel function"), kernel_traits).kind;
  // Files without them are of runs that waited for strong ones.
  const auto signs = hydro.contains("Shock signs") ? hydro.get<std::string>("Shock signs") : std::string{"strong"};
  scheme.signs = app::find_named("the file's signs of shocks,", signs, shock_signs_names).signs;
  visit_scheme(scheme, get_from(hydro));
  visit_gravity(scheme.gravity, get_from(gravity));
  return scheme;
}

/// Reads the file with the names of snapshots, or of initial conditions.
hdf5::SnapshotInfo read_either(const std::filesystem::path& file,
                               Particles& store,
                               const StateFields& fields,
                               std::uint32_t rank,
                               std::uint32_t ranks) {
  hdf5::SnapshotLayout layout = layout_of(fields.gas, Naming::snapshot);
  add_state(fields, layout);
  Result<hdf5::SnapshotInfo> as_snapshot = hdf5::read_snapshot(file, layout, store, rank, ranks);
  if (as_snapshot) {
    return std::move(as_snapshot).value();
  }
  const std::string trouble = as_snapshot.error().what();
  if (trouble.find("InternalEnergies") == std::string::npos && trouble.find("SmoothingLengths") == std::string::npos) {
    throw Error{as_snapshot.error()};
  }
  return hdf5::read_snapshot(file, layout_of(fields.gas, Naming::initial_condition), store, rank, ranks).value();
}

/// The order of particles when the file was written.
void restore_places(const StateFields& fields) {
  Particles& store = fields.gas.store;
  std::vector<Particles::Index> from(store.size(), Particles::size_max);
  for (Particles::Index i = 0; i < store.size(); ++i) {
    const std::uint32_t place = store[fields.place][i];
    if (place >= store.size() || from[place] != Particles::size_max) {
      throw Error{ErrorCode::bad_input, "data set Places of the file has equal or too large numbers: remove it"};
    }
    from[place] = i;
  }
  store.reorder(from);
}

/// The steps of the run that goes on; none if the file has not all of it, or another number of ranks wrote it.
std::optional<SavedSteps> steps_from(const hdf5::SnapshotInfo& info, const hdf5::Attributes& run, std::uint32_t ranks) {
  if (!run.contains("Ticks of steps") || !info.is_of_ranks(ranks)) {
    return {};
  }
  SavedSteps steps;
  run.get("Begin of steps", steps.begin);
  run.get("End of steps", steps.end);
  run.get("Ticks of steps", steps.now);
  run.get("Kind of steps", steps.lengths);
  run.get("Step", steps.count);
  run.get("Domain cuts", steps.cuts);
  return steps;
}

}  // namespace

hdf5::SnapshotLayout layout_of(const GasFields& fields, Naming naming) {
  // What is predicted to now: particles in the middle of their steps, too, are written where they are.
  using hdf5::Absent;
  using hdf5::Dataset;
  using hdf5::Valid;
  const std::uint64_t gas = hdf5::kind_bit(gas_kind);
  const bool is_snapshot = naming == Naming::snapshot;
  hdf5::SnapshotLayout layout;
  layout.kinds = gas | hdf5::kind_bit(dark_kind);
  layout.datasets = {
      Dataset{"Velocities", fields.velocity_now, {.dimension = hdf5::velocity_dimension, .description = "Velocities"}},
      Dataset{"Masses",
              fields.mass,
              {.dimension = hdf5::mass_dimension,
               .description = "Masses",
               .absent = Absent::mass_table,
               .valid = Valid::positive}},
      Dataset{is_snapshot ? "InternalEnergies" : "InternalEnergy",
              fields.energy_now,
              {.dimension = hdf5::specific_energy_dimension, .description = "Thermal energy per mass", .kinds = gas}},
      Dataset{is_snapshot ? "SmoothingLengths" : "SmoothingLength",
              fields.smoothing,
              {.dimension = hdf5::length_dimension,
               .description = "Smoothing lengths, the kernel's support over its ratio (FWHM of the kernel)",
               .kinds = gas,
               .valid = Valid::positive}},
  };
  if (is_snapshot) {
    const auto also =
        [&](const char* name, auto field, hdf5::Dimension dimension, const char* what, std::uint64_t kinds) {
          layout.datasets.push_back(Dataset{
              name, field, {.dimension = dimension, .description = what, .kinds = kinds, .absent = Absent::zero}});
        };
    also("Densities", fields.density, hdf5::density_dimension, "Mass per volume", gas);
    also("Pressures", fields.pressure, hdf5::pressure_dimension, "Pressures", gas);
    also("ViscosityParameters", fields.alpha, hdf5::no_dimension, "Strength of viscosity, without a switch", gas);
    also("DiffusionParameters", fields.conduction, hdf5::no_dimension, "Strength of conduction", gas);
    also("Potentials",
         fields.potential,
         hdf5::specific_energy_dimension,
         "Gravitational potential",
         gas | hdf5::kind_bit(dark_kind));
  }
  return layout;
}

hdf5::SnapshotHeader header_of(const Problem& problem, const RunState& state) {
  hdf5::SnapshotHeader header;
  header.time = state.time;
  header.box = problem.space.root.high;
  header.is_periodic = problem.space.is_periodic();
  header.code = "plait-sph";
  header.run_name = problem.name.empty() ? "plait-sph" : problem.name;
  header.groups[scheme_group] = attributes_of(problem.scheme);
  visit_gravity(problem.scheme.gravity, put_into(header.groups[gravity_group]));
  hdf5::Attributes run;
  run.set("Time", state.time);
  run.set("Step", state.step);
  run.set("Problem", problem.name);
  run.set("Resolution", state.options.resolution);
  run.set("Seed", state.options.seed);
  run.set("Time end", problem.time_end);
  run.set("Origin", std::vector<double>{problem.origin.x, problem.origin.y, problem.origin.z});
  const Totals& begin = state.begin;
  run.set("Totals at the beginning",
          std::vector<double>{begin.kept.mass,
                              begin.kept.kinetic,
                              begin.thermal,
                              begin.kept.potential,
                              begin.kept.momentum.x,
                              begin.kept.momentum.y,
                              begin.kept.momentum.z});
  if (state.steps) {
    run.set("Begin of steps", state.steps->begin);
    run.set("End of steps", state.steps->end);
    run.set("Ticks of steps", state.steps->now);
    run.set("Kind of steps", state.steps->lengths);
    run.set("Domain cuts", state.steps->cuts);
  }
  header.groups[state_group] = run;
  return header;
}

void add_state(const StateFields& fields, hdf5::SnapshotLayout& layout) {
  using namespace hdf5;  // NOLINT(google-build-using-namespace): the names of dimensions
  constexpr Dimension rate{.time = -1};
  const auto add = [&](const char* name, auto field, Dimension dimension, const char* what) {
    layout.datasets.push_back(Dataset{
        name, field, {.dimension = dimension, .description = what, .absent = Absent::zero, .valid = Valid::any}});
  };
  const GasFields& gas = fields.gas;
  add("VelocitiesAtKick", gas.velocity, velocity_dimension, "Velocities at the last kick");
  add("Accelerations", gas.acceleration, acceleration_dimension, "Accelerations by pressure and viscosity");
  add("GravityAccelerations", gas.gravity, acceleration_dimension, "Accelerations by gravity");
  add("InternalEnergiesAtKick", gas.energy, specific_energy_dimension, "Thermal energy per mass at the last kick");
  add("InternalEnergyRates", gas.energy_rate, {.length = 2, .time = -3}, "Their rates of change");
  add("SmoothingLengthRates", gas.smoothing_rate, velocity_dimension, "Rates of change of smoothing lengths");
  add("DensityRates", gas.density_rate, {.mass = 1, .length = -3, .time = -1}, "Rates of change of densities");
  add("SmoothingCorrections", gas.grad_h, no_dimension, "1 / (1 + h / (3 rho) drho/dh)");
  add("SwitchedViscosities", gas.viscosity, no_dimension, "Strength of viscosity with Balsara's switch");
  add("StrainsAlongAxes", gas.strain_along, rate, "Gradient of the flow: xx, yy, zz");
  add("StrainsAcrossAxes", gas.strain_across, rate, "Symmetric part of the gradient of the flow: yz, xz, xy");
  add("VelocityDivergences", gas.divergence, rate, "Of the flow, when last computed");
  add("EnergyLaplacians", gas.laplacian, {.time = -2}, "Laplacians of the thermal energy per mass");
  add("SignalSpeeds", gas.signal_speed, velocity_dimension, "The largest of all neighbours");
  add("DivergenceAges", gas.age, time_dimension, "Times since the divergence was computed");
  add("Costs", Particles::cost, no_dimension, "Updates of late, for domain decomposition");
  add("TimeBins", fields.steps.bin, no_dimension, "Of time steps");
  add("TimeBinsSeen", fields.steps.bin_seen, no_dimension, "Of time steps, as neighbours know them");
  add("StepBegins", fields.steps.begin, no_dimension, "Of time steps, in ticks");
  add("Places", fields.place, no_dimension, "Numbers on each rank, in the order of its memory");
  // Positions, ids and kinds have data sets of their own.
  plait::expect(layout.datasets.size() + 3 == gas.store.field_count(), "each field of the store is in files");
}

void forget_state(const StateFields& fields) {
  hdf5::SnapshotLayout state = layout_of(fields.gas, Naming::snapshot);
  const std::size_t results = state.datasets.size();
  add_state(fields, state);
  Particles& store = fields.gas.store;
  for (const hdf5::Dataset& dataset : std::span{state.datasets}.subspan(results)) {
    std::ranges::fill(store.bytes_of(dataset.field), std::byte{0});
  }
  const Gas gas{store, fields.gas};
  for (std::size_t i = 0; i < gas.count; ++i) {
    gas.velocity[i] = gas.velocity_now[i];
    gas.energy[i] = gas.energy_now[i];
  }
}

void number_places(const StateFields& fields) {
  const std::span<std::uint32_t> places = fields.gas.store[fields.place];
  std::iota(places.begin(), places.end(), 0U);
}

Loaded load(const std::filesystem::path& file,
            Particles& store,
            const StateFields& fields,
            std::uint32_t rank,
            std::uint32_t ranks) {
  const hdf5::SnapshotInfo info = read_either(file, store, fields, rank, ranks);
  const hdf5::SnapshotHeader& header = info.header;
  Loaded loaded;
  Problem& problem = loaded.problem;
  // Another program's groups may have the same names.
  if (header.groups.contains(state_group) && info.group(state_group).contains("Problem")) {
    const hdf5::Attributes& run = info.group(state_group);
    run.get("Step", loaded.state.step);
    run.get("Resolution", loaded.state.options.resolution);
    run.get("Seed", loaded.state.options.seed);
    const auto name = run.get<std::string>("Problem");
    if (!name.empty()) {
      problem = make_problem(name, loaded.state.options);
    }
    run.get("Time end", problem.time_end);
    problem.scheme = scheme_from(info.group(scheme_group), info.group(gravity_group));
    const auto begin = run.get<std::vector<double>>("Totals at the beginning");
    if (begin.size() == 7) {
      Totals& t = loaded.state.begin;
      t.kept.mass = begin[0], t.kept.kinetic = begin[1], t.thermal = begin[2], t.kept.potential = begin[3];
      t.kept.momentum = {begin[4], begin[5], begin[6]};
    }
    loaded.state.steps = steps_from(info, run, ranks);
  }
  problem.space.root = {{}, header.box};
  if (problem.name.empty()) {
    problem.space.periodic.fill(header.is_periodic);
  }
  loaded.state.time = header.time;
  if (loaded.state.steps) {
    restore_places(fields);
  } else {
    forget_state(fields);
  }
  return loaded;
}

}  // namespace sph
