// SPDX-License-Identifier: Apache-2.0
#include "plait/python/particles_module.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "plait/python/arrays.hpp"
#include "plait/python/engine.hpp"
#include "plait/python/particles_gravity.hpp"
#include "plait/python/particles_groups.hpp"
#include "plait/python/particles_neighbours.hpp"
#include "plait/python/particles_steps.hpp"
#include "plait/python/particles_store.hpp"

namespace plait::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// Softening, theta, coupling, whether quadrupoles act, whether precision is mixed.
using GravityTuple = std::tuple<double, double, double, bool, bool>;
/// The low and the high corner, which axes are periodic, and how far behind along y images one edge of x ahead are.
using BoxTuple = std::tuple<std::array<double, 3>, std::array<double, 3>, std::array<bool, 3>, double>;

particles::Vector vector_of(const std::array<double, 3>& numbers) {
  return {numbers[0], numbers[1], numbers[2]};
}

particles::Space space_of(const BoxTuple& box) {
  const auto& [low, high, periodic, displacement] = box;
  return {.root = {vector_of(low), vector_of(high)},
          .periodic = periodic,
          .shear = {.rate = displacement != 0 ? displacement / (high[0] - low[0]) : 0, .time = 1}};
}

auto gravity(Engine& engine,
             const Positions& positions,
             const Numbers& masses,
             const GravityTuple& options,
             const BoxTuple& box) {
  if (positions.shape(0) != masses.size()) {
    throw nb::value_error("positions and masses must have one row a body");
  }
  const auto& [softening, theta, coupling, is_quadrupole, is_mixed] = options;
  const GravitySettings settings{softening, theta, coupling, is_quadrupole, is_mixed, space_of(box)};
  Forces forces = engine.run([&] {
    return sum_gravity(engine.runtime(), engine.group(), numbers_of(positions), numbers_of(masses), settings);
  });
  return std::pair{array_of<2>(std::move(forces.accelerations), {masses.size(), 3}),
                   array_of<1>(std::move(forces.potentials), {masses.size()})};
}

auto neighbours(Engine& engine, const Positions& positions, const Numbers& radii, const BoxTuple& box, int search) {
  if (positions.shape(0) != radii.size()) {
    throw nb::value_error("positions and radii must have one row a point");
  }
  const NeighbourSettings settings{
      .radii = numbers_of(radii), .search = static_cast<particles::Search>(search), .space = space_of(box)};
  NeighbourRows found =
      engine.run([&] { return find_neighbours(engine.runtime(), engine.group(), numbers_of(positions), settings); });
  const std::size_t count = found.indices.size();
  return std::pair{array_of<1>(std::move(found.offsets), {radii.size() + 1}),
                   array_of<1>(std::move(found.indices), {count})};
}

// ---- Groups ----

/// Members, mass, centre, velocity, angular momentum, extent and dispersion (xx, yy, zz, yz, xz, xy).
using MomentsTuple = std::tuple<std::uint64_t,
                                double,
                                std::array<double, 3>,
                                std::array<double, 3>,
                                std::array<double, 3>,
                                std::array<double, 6>,
                                std::array<double, 6>>;

std::array<double, 3> numbers_in(const particles::Vector& v) {
  return {v.x, v.y, v.z};
}

std::array<double, 6> numbers_in(const particles::SymmetricTensor& t) {
  return {t.xx, t.yy, t.zz, t.yz, t.xz, t.xy};
}

MomentsTuple tuple_of(const particles::SelectionMoments& moments) {
  return {moments.members,
          moments.mass,
          numbers_in(moments.centre),
          numbers_in(moments.velocity),
          numbers_in(moments.angular_momentum),
          numbers_in(moments.extent),
          numbers_in(moments.dispersion)};
}

BodyArrays bodies_of(const Positions& positions, const Numbers& masses, const std::optional<Positions>& velocities) {
  if (positions.shape(0) != masses.size() || (velocities && velocities->shape(0) != masses.size())) {
    throw nb::value_error("positions, masses and velocities must have one row a body");
  }
  return {numbers_of(positions), numbers_of(masses), velocities ? numbers_of(*velocities) : std::span<const double>{}};
}

MomentsTuple moments(Engine& engine,
                     const Positions& positions,
                     const Numbers& masses,
                     const std::optional<Positions>& velocities,
                     const BoxTuple& box) {
  const BodyArrays given = bodies_of(positions, masses, velocities);
  return tuple_of(engine.run([&] {
    const Bodies bodies{engine.runtime().self(), given};
    return particles::measure_moments(engine.runtime().messages(),
                                      bodies.store,
                                      {.mass = bodies.mass, .velocity = bodies.velocity, .space = space_of(box)},
                                      [](const particles::Particles&, particles::Particles::Index) { return true; });
  }));
}

/// Linking length and the fewest members.
using FriendsTuple = std::pair<double, std::uint64_t>;

auto groups(Engine& engine,
            const Positions& positions,
            const Numbers& masses,
            const std::optional<Positions>& velocities,
            const FriendsTuple& options,
            const BoxTuple& box) {
  const BodyArrays given = bodies_of(positions, masses, velocities);
  GroupsFound found = engine.run([&] {
    return find_groups(engine.runtime(),
                       engine.group(),
                       given,
                       {.space = space_of(box), .linking_length = options.first, .members_min = options.second});
  });
  std::vector<std::pair<std::uint64_t, MomentsTuple>> rows;
  for (const particles::LabelledMoments& row : found.groups) {
    rows.emplace_back(row.id, tuple_of(row));
  }
  return std::pair{std::move(rows), array_of<1>(std::move(found.of_particle), {masses.size()})};
}

auto density_profile(Engine& engine,
                     const Positions& positions,
                     const Numbers& masses,
                     const std::array<double, 3>& centre,
                     const std::vector<double>& radii,
                     const BoxTuple& box) {
  const BodyArrays given = bodies_of(positions, masses, {});
  particles::DensityProfile profile = engine.run([&] {
    const Bodies bodies{engine.runtime().self(), given};
    return particles::measure_density_profile(
        engine.runtime().messages(),
        bodies.store,
        {.mass = bodies.mass, .space = space_of(box), .centre = vector_of(centre), .radii = radii});
  });
  std::vector<double> densities;
  for (std::size_t shell = 0; shell < profile.mass.size(); ++shell) {
    densities.push_back(profile.density(shell));
  }
  const std::size_t shells = profile.mass.size();
  return std::tuple{array_of<1>(std::move(profile.mass), {shells}),
                    array_of<1>(std::move(profile.particles), {shells}),
                    array_of<1>(std::move(densities), {shells})};
}

// ---- Stores and systems ----

std::shared_ptr<ParticleSystem> make_system(std::shared_ptr<Engine> engine,
                                            std::shared_ptr<ParticleStore> store,
                                            const BoxTuple& box,
                                            const std::array<std::uint32_t, 5>& schedule,
                                            const std::pair<std::optional<std::string>, std::uint64_t>& cells) {
  return std::make_shared<ParticleSystem>(std::move(engine),
                                          std::move(store),
                                          SystemSettings{.space = space_of(box),
                                                         .grid = {schedule[0], schedule[1], schedule[2]},
                                                         .steps_between_decompositions = schedule[3],
                                                         .steps_between_trees = schedule[4],
                                                         .cell_reach = cells.first,
                                                         .limited_kinds = cells.second});
}

void add_long_range(ParticleSystem& system,
                    const std::array<std::string, 3>& fields,
                    const std::optional<std::string>& velocity,
                    const std::array<double, 4>& numbers,
                    const std::array<bool, 3>& choices,
                    const std::pair<std::uint64_t, std::uint64_t>& kinds) {
  system.add_long_range({.charge = fields[0],
                         .acceleration = fields[1],
                         .potential = fields[2],
                         .velocity = velocity,
                         .theta = numbers[0],
                         .softening = numbers[1],
                         .coupling = numbers[2],
                         .cutoff = numbers[3],
                         .is_quadrupole = choices[0],
                         .is_mixed = choices[1],
                         .has_both_signs = choices[2],
                         .sources = kinds.first,
                         .targets = kinds.second});
}

auto step(ParticleSystem& system) {
  const particles::StepResult result = system.step();
  return std::tuple{result.time, result.step, result.updated, result.updated_here};
}

void take_steps(ParticleSystem& system, int lengths, const std::array<double, 5>& numbers) {
  system.take_steps({.lengths = static_cast<particles::StepLengths>(lengths),
                     .step = numbers[0],
                     .begin = numbers[1],
                     .end = numbers[2],
                     .step_max = numbers[3],
                     .step_min = numbers[4]});
}

void add_stores(nb::module_& module) {
  nb::class_<ParticleStore>(module, "ParticleStore", "Particles of one rank; plait.particles.Store wraps it.")
      .def(nb::new_([] { return std::make_shared<ParticleStore>(); }))
      .def("add_field", &ParticleStore::add_field, "name"_a, "type"_a, "components"_a)
      .def("add", &ParticleStore::add, "count"_a, "Appends particles; the place of the first.")
      .def(
          "remove",
          [](ParticleStore& store, const std::vector<std::int64_t>& places) { store.remove(places); },
          "places"_a,
          "Particles from the end fill the gaps.")
      .def(
          "view",
          [](const std::shared_ptr<ParticleStore>& store, const std::string& name) {
            return nb::cast(ParticleStore::view(store, name));
          },
          "name"_a,
          "An array that shares memory.")
      .def_prop_ro("names", &ParticleStore::names)
      .def_prop_ro("size", [](ParticleStore& store) { return store.particles().size(); });
}

void add_systems(nb::module_& module) {
  nb::class_<ParticleSystem>(module, "ParticleSystem", "Steps of particles; plait.particles.System wraps it.")
      .def(nb::new_(&make_system),
           "engine"_a,
           "store"_a,
           "box"_a,
           "schedule"_a,
           "cells"_a,
           "schedule: ranks along each axis, steps between decompositions and between trees. cells: the field\n"
           "of reaches, and a bit for each kind whose steps neighbours limit.")
      .def("integrate", &ParticleSystem::integrate, "velocity"_a, "acceleration"_a, "velocity_now"_a.none())
      .def(
          "integrate_by",
          [](ParticleSystem& system,
             const std::string& velocity,
             const nb::object& drift,
             const nb::object& kick,
             const nb::object& settle,
             const std::pair<std::vector<std::string>, std::vector<std::string>>& fields) {
            system.integrate_by({velocity, drift, kick, settle, fields.first, fields.second});
          },
          "velocity"_a,
          "drift"_a,
          "kick"_a,
          "settle"_a.none(),
          "fields"_a,
          "fields: those that `drift` predicts, and the forces that `kick` reads.")
      .def("take_steps",
           &take_steps,
           "lengths"_a,
           "numbers"_a,
           "lengths: 0 fixed, 1 equal, 2 individual. numbers: the fixed one, begin, end, longest, shortest.")
      .def("limit_steps_by", &ParticleSystem::limit_steps_by, "criterion"_a)
      .def("add_stage", &ParticleSystem::add_stage, "name"_a, "kinds"_a, "writes"_a, "function"_a)
      .def("before", &ParticleSystem::before, "name"_a, "function"_a)
      .def("after", &ParticleSystem::after, "name"_a, "function"_a)
      .def("when_summed", &ParticleSystem::when_summed, "function"_a)
      .def("add_long_range",
           &add_long_range,
           "fields"_a,
           "velocity"_a.none(),
           "numbers"_a,
           "choices"_a,
           "kinds"_a,
           "fields: charge, acceleration, potential. numbers: theta, softening, coupling, cut-off. choices:\n"
           "whether quadrupoles act, precision is mixed, charges have both signs. kinds: bits of sources and\n"
           "of targets.")
      .def("update", &ParticleSystem::update)
      .def("step", &step, "The time, the length, the particles updated on all ranks and on this one.")
      .def("run_until", &ParticleSystem::run_until, "time"_a)
      .def("synchronise", &ParticleSystem::synchronise)
      .def("distribute", &ParticleSystem::distribute)
      .def(
          "domain",
          [](const ParticleSystem& system) {
            const particles::Box box = system.domain();
            return std::pair{numbers_in(box.low), numbers_in(box.high)};
          },
          "The low and the high corner of this rank's domain.")
      .def("close", &ParticleSystem::close, "Frees the system; collective.")
      .def_prop_ro("time", &ParticleSystem::time)
      .def_prop_ro("is_over", &ParticleSystem::is_over);
}

void add_measures(nb::module_& module) {
  module.def("moments",
             &moments,
             "engine"_a,
             "positions"_a,
             "masses"_a,
             "velocities"_a.none(),
             "box"_a,
             "Members, mass, centre, velocity, angular momentum, extent, dispersion; collective.");
  module.def("groups",
             &groups,
             "engine"_a,
             "positions"_a,
             "masses"_a,
             "velocities"_a.none(),
             "options"_a,
             "box"_a,
             "Ids and moments of this rank's groups, and the group of each particle; collective.\n\n"
             "options: the linking length and the fewest members.");
  module.def("density_profile",
             &density_profile,
             "engine"_a,
             "positions"_a,
             "masses"_a,
             "centre"_a,
             "radii"_a,
             "box"_a,
             "Mass, particles and density of each shell; collective.");
}

void add_sums(nb::module_& module) {
  module.def("gravity",
             &gravity,
             "engine"_a,
             "positions"_a,
             "masses"_a,
             "options"_a,
             "box"_a,
             "Accelerations (n, 3) and potentials (n,); collective.\n\n"
             "options: softening, theta, G, whether quadrupoles act, whether precision is mixed. box: as of\n"
             "neighbours.");
  module.def("neighbours",
             &neighbours,
             "engine"_a,
             "positions"_a,
             "radii"_a,
             "box"_a,
             "search"_a,
             "Offsets (n + 1,) and indices; collective.\n\n"
             "box: low and high corner, which axes are periodic, and the displacement of images along y. search: 0\n"
             "gathers, 1 scatters, 2 does both.");
}

}  // namespace

void add_particles_module(nb::module_& module) {
  add_sums(module);
  add_stores(module);
  add_systems(module);
  add_measures(module);
}

}  // namespace plait::python
