// SPDX-License-Identifier: Apache-2.0
// Systems, and their steps.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "plait/c/guard.hpp"
#include "plait/c_particles/detail/fields.hpp"
#include "plait/c_particles/handles.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/particles/steps/leapfrog.hpp"
#include "plait/particles/steps/system.hpp"

namespace plait::c_particles::detail {
namespace {

constexpr plait_system_options system_defaults{.size = sizeof(plait_system_options),
                                               .low = {},
                                               .high = {},
                                               .periodic = {},
                                               .coordinates = PLAIT_CARTESIAN,
                                               .grid = {},
                                               .steps_between_decompositions = 4,
                                               .steps_between_trees = 1,
                                               .shear_rate = 0,
                                               .shear_velocity = -1,
                                               .cell_reach = -1,
                                               .limited_kinds = ~std::uint64_t{0}};

std::uint32_t count_of(int given, const char* what) {
  if (given < 0) {
    throw Error{ErrorCode::bad_argument, fmt::format("a system has {} {}: give 0 or more", given, what)};
  }
  return static_cast<std::uint32_t>(given);
}

particles::Shear shear_of(const plait_store& store, const plait_system_options& options) {
  particles::Shear shear{.rate = options.shear_rate};
  if (options.shear_velocity >= 0) {
    shear.velocity = vector_field(store, options.shear_velocity, "shear_velocity");
  }
  return shear;
}

particles::CellsOfSystem cells_of(const plait_store& store, const plait_system_options& options) {
  particles::CellsOfSystem cells{.kinds = particles::Kinds::from_bits(options.limited_kinds)};
  if (options.cell_reach >= 0) {
    cells.reach = float_field(store, options.cell_reach, "cell_reach");
  }
  return cells;
}

particles::SystemOptions options_of(const plait_store& store, const plait_system_options& options) {
  require(options.coordinates == PLAIT_CARTESIAN || options.coordinates == PLAIT_CYLINDRICAL,
          "a system has no valid coordinates: use a value of plait_coordinates");
  const auto vector_of = [](const double (&values)[3]) { return particles::Vector{values[0], values[1], values[2]}; };
  return {
      .space = {.root = {vector_of(options.low), vector_of(options.high)},
                .periodic = {options.periodic[0] != 0, options.periodic[1] != 0, options.periodic[2] != 0},
                .coordinates = static_cast<particles::Coordinates>(options.coordinates),
                .shear = shear_of(store, options)},
      .grid = {count_of(options.grid[0], "ranks along x"),
               count_of(options.grid[1], "ranks along y"),
               count_of(options.grid[2], "ranks along z")},
      .steps_between_decompositions = count_of(options.steps_between_decompositions, "steps between decompositions"),
      .steps_between_trees = count_of(options.steps_between_trees, "steps between trees"),
      .cells = cells_of(store, options)};
}

particles::RangeFunction range_function(plait_store& store, plait_range_function function, void* argument) {
  require(function != nullptr, "a step has a function that is NULL: give one");
  return [&store, function, argument](const particles::Particles&, std::size_t first, std::size_t last) {
    c::check_call([&] { return function(&store, first, last, argument); });
  };
}

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace
}  // namespace plait::c_particles::detail

using namespace plait::c;
using namespace plait::c_particles::detail;

extern "C" {

int plait_system_options_init(plait_system_options* options, size_t size) {
  return guarded([&] { set_defaults(options, size, system_defaults); });
}

int plait_system_create(plait_runtime* runtime,
                        plait_store* store,
                        const plait_system_options* options,
                        plait_system** system) {
  return create(system, [&] {
    return new plait_system{
        *runtime,
        *store,
        options_of(*store, options != nullptr ? known_options(options, system_defaults) : system_defaults)};
  });
}

int plait_system_free(plait_system** system) {
  return destroy(system);
}

int plait_system_before(plait_system* system, const char* kind, plait_range_function function, void* argument) {
  return guarded([&] { system->system.before(kind, range_function(system->store, function, argument)); });
}

int plait_system_after(plait_system* system, const char* kind, plait_range_function function, void* argument) {
  return guarded([&] { system->system.after(kind, range_function(system->store, function, argument)); });
}

int plait_system_when_summed(plait_system* system, plait_step_function function, void* argument) {
  return guarded([&] {
    plait::require(function != nullptr, "a step has a function that is NULL: give one");
    system->system.when_summed(
        [store = &system->store, function, argument] { check_call([&] { return function(store, argument); }); });
  });
}

int plait_system_add_leapfrog(plait_system* system, int velocity, int acceleration, double time_step) {
  return guarded([&] {
    plait::particles::add_leapfrog(system->system,
                                   {.velocity = vector_field(system->store, velocity, "velocity"),
                                    .acceleration = vector_field(system->store, acceleration, "acceleration"),
                                    .time_step = time_step});
  });
}

int plait_system_set_time(plait_system* system, double time) {
  return guarded([&] { system->system.set_time(time); });
}

int plait_system_update(plait_system* system) {
  return guarded([&] { system->system.update(); });
}

int plait_system_step(plait_system* system) {
  return guarded([&] { system->last_step = system->system.step(); });
}

int plait_system_distribute(plait_system* system) {
  return guarded([&] { system->system.distribute(); });
}

int plait_system_sum(plait_system* system, size_t count, double* values) {
  return guarded([&] {
    plait::require(values != nullptr || count == 0, "a sum has values at NULL: give an array");
    plait::comm::all_reduce(system->ranks, std::span{values, count}).wait();
  });
}

int plait_system_domain(const plait_system* system, double low[3], double high[3]) {
  return guarded([&] {
    const plait::particles::Box box = system->system.domain().box();
    const std::array corners{std::pair{box.low, low}, std::pair{box.high, high}};
    for (const auto& [corner, to] : corners) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        to[axis] = corner[axis];
      }
    }
  });
}

int plait_system_take_times(plait_system* system, plait_step_times* times) {
  using plait::particles::Phase;
  return guarded([&] {
    const plait::particles::StepTimes taken = system->system.take_times();
    *times = {.steps = static_cast<int64_t>(taken.steps),
              .wall_seconds = seconds_of(taken.wall),
              .idle_seconds = seconds_of(taken.idle),
              .decompose_seconds = seconds_of(taken[Phase::decompose]),
              .exchange_seconds = seconds_of(taken[Phase::exchange]),
              .tree_seconds = seconds_of(taken[Phase::make_tree]),
              .let_seconds = seconds_of(taken[Phase::make_lets] + taken[Phase::exchange_lets]),
              .walk_seconds = seconds_of(taken[Phase::walk]),
              .kernel_seconds = seconds_of(taken[Phase::kernel]),
              .short_range_seconds = seconds_of(taken[Phase::short_range]),
              .other_seconds = seconds_of(taken[Phase::other]),
              .interactions = static_cast<int64_t>(taken.interactions),
              .let_bytes = static_cast<int64_t>(taken.let_bytes)};
  });
}
}
