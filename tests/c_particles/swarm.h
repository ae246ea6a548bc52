/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Particles that choose their steps by their id, for the programs of this folder that compare each of them with a
 * direct computation. */
#include <math.h>

#include "c_particles/check.h"

enum { COUNT = 300 };
static const double BEGIN = 1;
static const double END = 3;
static const double SHORT_STEP = 0.03125; /* Of every tenth particle. */
static const double LONG_STEP = 0.25;
static const double REACH = 0.15;

typedef struct swarm {
  plait_store* store;
  int velocity, velocity_now, acceleration, drifted, kicked, settles, pulls, reach, near, sum, mass, potential;
} swarm;

static double step_of(int64_t id) {
  return id % 10 == 0 ? SHORT_STEP : LONG_STEP;
}

static double mass_of(int64_t id) {
  return (1 + number_of(id, 3)) / COUNT;
}

static double place_of(int64_t id, int axis) {
  return number_of(id, axis);
}

static double velocity_of(int64_t id, int axis) {
  return number_of(id, 4 + axis) - 0.5;
}

static int add_numbers(plait_store* store, const char* name, int type, int components) {
  int field = -1;
  check(plait_store_add_field(store, name, type, components, &field) == PLAIT_SUCCESS,
        "plait_store_add_field",
        __FILE__,
        __LINE__);
  return field;
}

/* Particle i begins on rank i modulo their number. */
static swarm make_swarm(plait_runtime* runtime) {
  swarm made;
  int64_t id;
  int axis;
  made.store = NULL;
  check(plait_store_create(&made.store) == PLAIT_SUCCESS, "plait_store_create", __FILE__, __LINE__);
  made.velocity = add_numbers(made.store, "velocity", PLAIT_DOUBLE, 3);
  made.velocity_now = add_numbers(made.store, "velocity now", PLAIT_DOUBLE, 3);
  made.acceleration = add_numbers(made.store, "acceleration", PLAIT_DOUBLE, 3);
  made.drifted = add_numbers(made.store, "drifted", PLAIT_DOUBLE, 1);
  made.kicked = add_numbers(made.store, "kicked", PLAIT_DOUBLE, 1);
  made.settles = add_numbers(made.store, "settles", PLAIT_INT32, 1);
  made.pulls = add_numbers(made.store, "pulls", PLAIT_INT32, 1);
  made.reach = add_numbers(made.store, "reach", PLAIT_FLOAT, 1);
  made.near = add_numbers(made.store, "near", PLAIT_FLOAT, 1);
  made.sum = add_numbers(made.store, "sum", PLAIT_FLOAT, 1);
  made.mass = add_numbers(made.store, "mass", PLAIT_DOUBLE, 1);
  made.potential = add_numbers(made.store, "potential", PLAIT_DOUBLE, 1);
  for (id = plait_rank(runtime); id < COUNT; id += plait_rank_count(runtime)) {
    size_t at = 0;
    check(plait_store_add(made.store, 1, &at) == PLAIT_SUCCESS, "plait_store_add", __FILE__, __LINE__);
    ((int64_t*)plait_store_values(made.store, PLAIT_ID))[at] = id;
    ((uint8_t*)plait_store_values(made.store, PLAIT_KIND))[at] = (uint8_t)(id % 2);
    ((float*)plait_store_values(made.store, made.reach))[at] = (float)REACH;
    ((double*)plait_store_values(made.store, made.mass))[at] = mass_of(id);
    for (axis = 0; axis < 3; ++axis) {
      ((double*)plait_store_values(made.store, PLAIT_POSITION))[3 * at + (size_t)axis] = place_of(id, axis);
      ((double*)plait_store_values(made.store, made.velocity))[3 * at + (size_t)axis] = velocity_of(id, axis);
      ((double*)plait_store_values(made.store, made.velocity_now))[3 * at + (size_t)axis] = velocity_of(id, axis);
    }
  }
  return made;
}

static const int64_t* ids_of(const swarm* given) {
  return (const int64_t*)plait_store_values(given->store, PLAIT_ID);
}

static int limit(plait_store* store, size_t count, const int32_t* places, double* longest, void* argument) {
  const int64_t* ids = (const int64_t*)plait_store_values(store, PLAIT_ID);
  size_t k;
  (void)argument;
  for (k = 0; k < count; ++k) {
    longest[k] = fmin(longest[k], step_of(ids[places[k]]));
  }
  return 0;
}

/* The leapfrog with its velocity at the time of positions. */
static plait_integrator leapfrog(const swarm* given) {
  plait_integrator integrator;
  check(plait_integrator_init(&integrator, sizeof integrator) == PLAIT_SUCCESS, "init", __FILE__, __LINE__);
  integrator.velocity = given->velocity;
  integrator.acceleration = given->acceleration;
  integrator.velocity_now = given->velocity_now;
  return integrator;
}

static void take_steps(plait_system* system, int lengths) {
  plait_time_steps steps;
  check(plait_time_steps_init(&steps, sizeof steps) == PLAIT_SUCCESS, "plait_time_steps_init", __FILE__, __LINE__);
  check(steps.lengths == PLAIT_INDIVIDUAL_STEPS && steps.begin == 0 && steps.end == 1 && isinf(steps.step_max),
        "options have defaults",
        __FILE__,
        __LINE__);
  steps.lengths = lengths;
  steps.begin = BEGIN;
  steps.end = END;
  check(plait_system_take_steps(system, &steps) == PLAIT_SUCCESS, "plait_system_take_steps", __FILE__, __LINE__);
}

/* `write` is the field that the function changes. */
static void add_stage(
    plait_system* system, const char* name, uint64_t kinds, int write, plait_stage_function function, swarm* given) {
  plait_stage_options options;
  const int writes[] = {write, given->pulls};
  check(plait_stage_options_init(&options, sizeof options) == PLAIT_SUCCESS,
        "plait_stage_options_init",
        __FILE__,
        __LINE__);
  check(options.name == NULL && options.kinds == ~(uint64_t)0, "options have defaults", __FILE__, __LINE__);
  options.name = name;
  options.kinds = kinds;
  options.writes = writes;
  options.write_count = 2;
  options.function = function;
  options.argument = given;
  check(plait_system_add_stage(system, &options) == PLAIT_SUCCESS, "plait_system_add_stage", __FILE__, __LINE__);
}
