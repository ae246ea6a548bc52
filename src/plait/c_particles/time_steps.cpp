// SPDX-License-Identifier: Apache-2.0
// Integrators, the lengths of steps, and stages.
#include "plait/particles/steps/time_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "plait/c/guard.hpp"
#include "plait/c_particles/detail/fields.hpp"
#include "plait/c_particles/handles.hpp"
#include "plait/particles/steps/integrator.hpp"
#include "plait/particles/steps/stage.hpp"

namespace plait::c_particles::detail {
namespace {

constexpr plait_integrator integrator_defaults{.size = sizeof(plait_integrator),
                                               .velocity = -1,
                                               .acceleration = -1,
                                               .velocity_now = -1,
                                               .drift = nullptr,
                                               .kick = nullptr,
                                               .settle = nullptr,
                                               .predicted_count = 0,
                                               .force_count = 0,
                                               .predicted = nullptr,
                                               .forces = nullptr,
                                               .argument = nullptr};

constexpr plait_time_steps step_defaults{.size = sizeof(plait_time_steps),
                                         .lengths = PLAIT_INDIVIDUAL_STEPS,
                                         .step = 0,
                                         .begin = 0,
                                         .end = 1,
                                         .step_max = std::numeric_limits<double>::infinity(),
                                         .step_min = 0};

constexpr plait_stage_options stage_defaults{.size = sizeof(plait_stage_options),
                                             .name = nullptr,
                                             .kinds = ~std::uint64_t{0},
                                             .write_count = 0,
                                             .writes = nullptr,
                                             .function = nullptr,
                                             .argument = nullptr};

using particles::Kick;
using particles::Particles;

static_assert(sizeof(Kick) == sizeof(plait_kick) && offsetof(Kick, duration) == offsetof(plait_kick, duration),
              "kicks are passed on as they are");

/// Places of particles are below 2^30, and so equal as signed and unsigned numbers.
const std::int32_t* places_of(std::span<const Particles::Index> places) {
  return reinterpret_cast<const std::int32_t*>(places.data());
}

auto kick_function(plait_store& store, plait_kick_function function, void* argument) {
  return [&store, function, argument](const Particles&, std::span<const Kick> kicks) {
    c::check_call(
        [&] { return function(&store, kicks.size(), reinterpret_cast<const plait_kick*>(kicks.data()), argument); });
  };
}

particles::Integrator leapfrog_of(const plait_store& store, const plait_integrator& given) {
  std::optional<particles::Field<particles::Vector>> now;
  if (given.velocity_now >= 0) {
    now = vector_field(store, given.velocity_now, "velocity_now");
  }
  return particles::leapfrog({.velocity = vector_field(store, given.velocity, "velocity"),
                              .acceleration = vector_field(store, given.acceleration, "acceleration"),
                              .velocity_now = now});
}

particles::Integrator integrator_of(plait_store& store, const plait_integrator& given) {
  if (given.drift == nullptr && given.kick == nullptr) {
    require(given.settle == nullptr, "an integrator has a settle function without drift and kick: give all three");
    return leapfrog_of(store, given);
  }
  require(given.drift != nullptr && given.kick != nullptr,
          "an integrator has one of drift and kick: give both, or none for the leapfrog");
  particles::Integrator made{.velocity = vector_field(store, given.velocity, "velocity"),
                             .drift =
                                 [&store, drift = given.drift, argument = given.argument](
                                     const Particles&, std::size_t first, std::size_t last, double duration) {
                                   c::check_call([&] { return drift(&store, first, last, duration, argument); });
                                 },
                             .kick = kick_function(store, given.kick, given.argument),
                             .predicted = any_fields(store, given.predicted, given.predicted_count, "predicted fields"),
                             .forces = any_fields(store, given.forces, given.force_count, "forces")};
  if (given.settle != nullptr) {
    made.settle = kick_function(store, given.settle, given.argument);
  }
  return made;
}

particles::TimeSteps steps_of(const plait_time_steps& given) {
  require(given.lengths >= PLAIT_FIXED_STEPS && given.lengths <= PLAIT_INDIVIDUAL_STEPS,
          "steps have no valid lengths: use a value of plait_step_lengths");
  return {.lengths = static_cast<particles::StepLengths>(given.lengths),
          .step = given.step,
          .begin = given.begin,
          .end = given.end,
          .step_max = given.step_max,
          .step_min = given.step_min};
}

static_assert(static_cast<int>(particles::StepLengths::fixed) == PLAIT_FIXED_STEPS &&
              static_cast<int>(particles::StepLengths::equal) == PLAIT_EQUAL_STEPS &&
              static_cast<int>(particles::StepLengths::individual) == PLAIT_INDIVIDUAL_STEPS);

particles::StepCriterion criterion_of(plait_store& store, plait_step_criterion criterion, void* argument) {
  require(criterion != nullptr, "a criterion of steps is NULL: give a function");
  return [&store, criterion, argument](
             const Particles&, std::span<const Particles::Index> places, std::span<double> longest) {
    c::check_call([&] { return criterion(&store, places.size(), places_of(places), longest.data(), argument); });
  };
}

particles::Stage stage_of(plait_store& store, const plait_stage_options& options) {
  require(options.name != nullptr && *options.name != '\0' && options.function != nullptr,
          "a stage has no name, or its function is NULL: give both");
  return {.name = options.name,
          .kinds = particles::Kinds::from_bits(options.kinds),
          .work =
              [&store, function = options.function, argument = options.argument](const particles::StageWork& work) {
                c::check_call([&] { return function(&store, work.targets.size(), places_of(work.targets), argument); });
              },
          .writes = any_fields(store, options.writes, options.write_count, "writes")};
}

}  // namespace
}  // namespace plait::c_particles::detail

using namespace plait::c;
using namespace plait::c_particles::detail;

extern "C" {

int plait_integrator_init(plait_integrator* integrator, size_t size) {
  return guarded([&] { set_defaults(integrator, size, integrator_defaults); });
}

int plait_system_integrate(plait_system* system, const plait_integrator* integrator) {
  return guarded(
      [&] { system->system.integrate(integrator_of(system->store, known_options(integrator, integrator_defaults))); });
}

int plait_time_steps_init(plait_time_steps* steps, size_t size) {
  return guarded([&] { set_defaults(steps, size, step_defaults); });
}

int plait_system_take_steps(plait_system* system, const plait_time_steps* steps) {
  return guarded([&] {
    system->system.take_steps(steps_of(known_options(steps, step_defaults)));
    note_fields(system->store);
  });
}

int plait_system_limit_steps_by(plait_system* system, plait_step_criterion criterion, void* argument) {
  return guarded([&] { system->system.limit_steps_by(criterion_of(system->store, criterion, argument)); });
}

int plait_stage_options_init(plait_stage_options* options, size_t size) {
  return guarded([&] { set_defaults(options, size, stage_defaults); });
}

int plait_system_add_stage(plait_system* system, const plait_stage_options* options) {
  return guarded([&] { system->system.add_stage(stage_of(system->store, known_options(options, stage_defaults))); });
}

int plait_system_run_until(plait_system* system, double time) {
  return guarded([&] { system->system.run_until(time); });
}

int plait_system_synchronise(plait_system* system) {
  return guarded([&] { system->system.synchronise(); });
}

double plait_system_time(const plait_system* system) {
  return system->system.time();
}

int plait_system_is_over(const plait_system* system) {
  return system->system.is_over() ? 1 : 0;
}

int plait_system_last_step(const plait_system* system, plait_step_result* result) {
  return guarded([&] {
    plait::require(result != nullptr, "the result of a step has no variable: give its address");
    const plait::particles::StepResult& last = system->last_step;
    *result = {.time = last.time, .length = last.step, .updated = last.updated, .updated_here = last.updated_here};
  });
}
}
