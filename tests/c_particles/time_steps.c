/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that particles choose, their integrators and limits, on any number of ranks, beside a direct computation for
 * each particle. It prints nothing when all is right. */
#include <math.h>
#include <string.h>

#include "c_particles/swarm.h"

#define CHECK(fact) check((fact), #fact, __FILE__, __LINE__)
#define CHECK_DONE(call) check((call) == PLAIT_SUCCESS, #call, __FILE__, __LINE__)

/* ---- the parts of steps ---- */

/* Pulls towards the origin: then no particle depends on others. */
static int pull(plait_store* store, size_t count, const int32_t* places, void* argument) {
  const swarm* given = argument;
  const double (*position)[3] = plait_store_values(store, PLAIT_POSITION);
  double (*acceleration)[3] = plait_store_values(store, given->acceleration);
  int32_t* pulls = plait_store_values(store, given->pulls);
  size_t k;
  int axis;
  for (k = 0; k < count; ++k) {
    for (axis = 0; axis < 3; ++axis) {
      acceleration[places[k]][axis] = -position[places[k]][axis];
    }
    pulls[places[k]] += 1;
  }
  return 0;
}

static int drift(plait_store* store, size_t first, size_t last, double duration, void* argument) {
  const swarm* given = argument;
  double* position = plait_store_values(store, PLAIT_POSITION);
  const double* velocity = plait_store_values(store, given->velocity);
  double* now = plait_store_values(store, given->velocity_now);
  const double* acceleration = plait_store_values(store, given->acceleration);
  double* drifted = plait_store_values(store, given->drifted);
  size_t i;
  for (i = 3 * first; i < 3 * last; ++i) {
    position[i] += duration * velocity[i];
    now[i] += duration * acceleration[i];
  }
  for (i = first; i < last; ++i) {
    drifted[i] += duration;
  }
  return 0;
}

static int kick(plait_store* store, size_t count, const plait_kick* kicks, void* argument) {
  const swarm* given = argument;
  double (*velocity)[3] = plait_store_values(store, given->velocity);
  const double (*acceleration)[3] = plait_store_values(store, given->acceleration);
  double* kicked = plait_store_values(store, given->kicked);
  size_t k;
  int axis;
  for (k = 0; k < count; ++k) {
    for (axis = 0; axis < 3; ++axis) {
      velocity[kicks[k].place][axis] += kicks[k].duration * acceleration[kicks[k].place][axis];
    }
    kicked[kicks[k].place] += kicks[k].duration;
  }
  return 0;
}

static int settle(plait_store* store, size_t count, const plait_kick* kicks, void* argument) {
  const swarm* given = argument;
  const double (*velocity)[3] = plait_store_values(store, given->velocity);
  double (*now)[3] = plait_store_values(store, given->velocity_now);
  int32_t* settles = plait_store_values(store, given->settles);
  size_t k;
  for (k = 0; k < count; ++k) {
    memcpy(now[kicks[k].place], velocity[kicks[k].place], sizeof now[0]);
    settles[kicks[k].place] += 1;
  }
  return 0;
}

static void integrate(plait_system* system, const swarm* given, int has_own_functions) {
  plait_integrator integrator = leapfrog(given);
  const int predicted[] = {given->velocity_now, given->drifted};
  if (has_own_functions) {
    integrator.drift = drift;
    integrator.kick = kick;
    integrator.settle = settle;
    integrator.predicted = predicted;
    integrator.predicted_count = 2;
    integrator.forces = &given->acceleration;
    integrator.force_count = 1;
    integrator.argument = (void*)given;
  }
  CHECK_DONE(plait_system_integrate(system, &integrator));
}

/* ---- one particle at a time ---- */

typedef struct orbit {
  double x, v, a;
} orbit;

/* A leapfrog along one axis, in steps of one length, until `time`; the last step may end later. */
static orbit follow(int64_t id, int axis, double length, double time) {
  orbit now = {place_of(id, axis), velocity_of(id, axis), -place_of(id, axis)};
  double begin;
  for (begin = BEGIN; begin < time; begin += length) {
    now.v += length / 2 * now.a;
    if (begin + length > time) {
      now.x += (time - begin) * now.v;
      return now;
    }
    now.x += length * now.v;
    now.a = -now.x;
    now.v += length / 2 * now.a;
  }
  return now;
}

/* Compares at a time. Own steps that begin at it have kicked already, unless it is the end. */
static void compare(const swarm* given, double time, int lengths) {
  const double (*position)[3] = plait_store_values(given->store, PLAIT_POSITION);
  const double (*velocity)[3] = plait_store_values(given->store, given->velocity);
  const double (*velocity_now)[3] = plait_store_values(given->store, given->velocity_now);
  size_t i;
  int axis;
  for (i = 0; i < plait_store_size(given->store); ++i) {
    const int64_t id = ids_of(given)[i];
    for (axis = 0; axis < 3; ++axis) {
      const orbit exact = follow(id, axis, lengths == PLAIT_INDIVIDUAL_STEPS ? step_of(id) : SHORT_STEP, time);
      CHECK(fabs(position[i][axis] - exact.x) < 1e-13);
      if (time == END) {
        CHECK(fabs(velocity[i][axis] - exact.v) < 1e-13);
        CHECK(velocity_now[i][axis] == velocity[i][axis]);
      }
    }
  }
}

/* The steps of all particles in a span of time. */
static double steps_within(double span, int lengths) {
  double sum = 0;
  int64_t id;
  for (id = 0; id < COUNT; ++id) {
    sum += span / (lengths == PLAIT_INDIVIDUAL_STEPS ? step_of(id) : SHORT_STEP);
  }
  return sum;
}

/* ---- runs ---- */

/* Steps to the end, and compares the results of steps with the time that passes. */
static void step_to_end(plait_system* system, int lengths) {
  const double begin = plait_system_time(system);
  double length = 0;
  double updated[2] = {0, 0};
  plait_step_result step;
  while (!plait_system_is_over(system)) {
    const double before = plait_system_time(system);
    CHECK_DONE(plait_system_step(system));
    CHECK_DONE(plait_system_last_step(system, &step));
    CHECK(step.time == plait_system_time(system) && step.length == step.time - before && step.length > 0);
    length += step.length;
    updated[0] += (double)step.updated;
    updated[1] += (double)step.updated_here;
  }
  CHECK(plait_system_time(system) == END && length == END - begin);
  CHECK_DONE(plait_system_sum(system, 1, &updated[1]));
  CHECK(updated[0] == steps_within(END - begin, lengths) && updated[1] == updated[0]);
}

/* The functions of the program's integrator have had all durations, for all particles. */
static void check_durations(const swarm* given, double time, int lengths) {
  size_t i;
  for (i = 0; i < plait_store_size(given->store); ++i) {
    const double length = lengths == PLAIT_INDIVIDUAL_STEPS ? step_of(ids_of(given)[i]) : SHORT_STEP;
    const double ended = floor((time - BEGIN) / length);
    const double kicks = time == END ? ended : ended + 0.5;
    CHECK(((double*)plait_store_values(given->store, given->drifted))[i] == time - BEGIN);
    CHECK(((double*)plait_store_values(given->store, given->kicked))[i] == length * kicks);
    CHECK(((int32_t*)plait_store_values(given->store, given->settles))[i] == (int)ended);
    CHECK(((int32_t*)plait_store_values(given->store, given->pulls))[i] == (int)ended);
  }
}

/* The first update calls functions as often as it needs them. */
static void forget_counts(const swarm* given) {
  size_t i;
  for (i = 0; i < plait_store_size(given->store); ++i) {
    ((int32_t*)plait_store_values(given->store, given->pulls))[i] = 0;
    ((int32_t*)plait_store_values(given->store, given->settles))[i] = 0;
  }
}

static void oscillate(plait_runtime* runtime, int lengths, int has_own_functions) {
  const double first = BEGIN + SHORT_STEP;
  swarm given = make_swarm(runtime);
  plait_system* system = NULL;
  plait_step_result step;
  CHECK_DONE(plait_system_create(runtime, given.store, NULL, &system));
  add_stage(system, "pull", ~(uint64_t)0, given.acceleration, pull, &given);
  integrate(system, &given, has_own_functions);
  CHECK_DONE(plait_system_limit_steps_by(system, limit, NULL));
  take_steps(system, lengths);
  CHECK(plait_system_time(system) == BEGIN && !plait_system_is_over(system));
  CHECK_DONE(plait_system_update(system));
  CHECK_DONE(plait_system_last_step(system, &step));
  CHECK(step.time == 0 && step.length == 0 && step.updated == 0 && step.updated_here == 0);
  forget_counts(&given);
  CHECK_DONE(plait_system_run_until(system, first));
  CHECK(plait_system_time(system) == first);
  CHECK_DONE(plait_system_synchronise(system));
  compare(&given, first, lengths);
  if (has_own_functions) {
    check_durations(&given, first, lengths);
  }
  CHECK_DONE(plait_system_run_until(system, 2));
  CHECK(plait_system_time(system) == 2 && !plait_system_is_over(system));
  step_to_end(system, lengths);
  compare(&given, END, lengths);
  if (has_own_functions) {
    check_durations(&given, END, lengths);
  }
  CHECK_DONE(plait_system_run_until(system, END + 1)); /* no step is left */
  CHECK(plait_system_time(system) == END);
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&given.store));
}

/* ---- neighbours ---- */

static int count_pulls(plait_store* store, size_t count, const int32_t* places, void* argument) {
  int32_t* pulls = plait_store_values(store, ((const swarm*)argument)->pulls);
  size_t k;
  for (k = 0; k < count; ++k) {
    pulls[places[k]] += 1;
  }
  return 0;
}

/* Particles of some kinds take shorter steps near those with short ones. */
static void limit_by_neighbours(plait_runtime* runtime, uint64_t kinds) {
  swarm given = make_swarm(runtime);
  plait_system* system = NULL;
  plait_system_options options;
  double more = 0;
  size_t i;
  CHECK_DONE(plait_system_options_init(&options, sizeof options));
  options.cell_reach = given.reach;
  options.limited_kinds = kinds;
  CHECK_DONE(plait_system_create(runtime, given.store, &options, &system));
  add_stage(system, "count", ~(uint64_t)0, given.pulls, count_pulls, &given);
  integrate(system, &given, 0);
  CHECK_DONE(plait_system_limit_steps_by(system, limit, NULL));
  take_steps(system, PLAIT_INDIVIDUAL_STEPS);
  CHECK_DONE(plait_system_update(system));
  forget_counts(&given);
  CHECK_DONE(plait_system_run_until(system, END));
  for (i = 0; i < plait_store_size(given.store); ++i) {
    const int64_t id = ids_of(&given)[i];
    const double its = ((int32_t*)plait_store_values(given.store, given.pulls))[i] - (END - BEGIN) / step_of(id);
    CHECK((kinds >> (id % 2) & 1) == 1 ? its >= 0 : its == 0);
    more += its;
  }
  CHECK_DONE(plait_system_sum(system, 1, &more));
  CHECK(kinds == 0 ? more == 0 : more > 0);
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&given.store));
}

int main(int argc, char** argv) {
  plait_runtime* runtime = begin(&argc, &argv);
  oscillate(runtime, PLAIT_INDIVIDUAL_STEPS, 0);
  oscillate(runtime, PLAIT_INDIVIDUAL_STEPS, 1);
  oscillate(runtime, PLAIT_EQUAL_STEPS, 0);
  oscillate(runtime, PLAIT_EQUAL_STEPS, 1);
  limit_by_neighbours(runtime, 0);
  limit_by_neighbours(runtime, 1);
  limit_by_neighbours(runtime, 2);
  limit_by_neighbours(runtime, ~(uint64_t)0);
  return end(runtime);
}
