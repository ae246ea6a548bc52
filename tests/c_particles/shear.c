/* SPDX-License-Identifier: Apache-2.0 */
/* Particles that fly freely in a shearing box, on any number of ranks: where they come to, and their neighbours, beside
 * sums over all images. It prints nothing when all is right. */
#include <math.h>
#include <string.h>

#include "c_particles/check.h"

#define CHECK(fact) check((fact), #fact, __FILE__, __LINE__)
#define CHECK_DONE(call) check((call) == PLAIT_SUCCESS, #call, __FILE__, __LINE__)

enum { COUNT = 200, STEPS = 12 };
static const double RATE = 0.75;
static const double REACH = 0.2;
static const double TIME_STEP = 0.125;

typedef struct fields {
  plait_store* store;
  int velocity, reach, count, flux;
} fields;

/* A particle of the unit box at a time. */
static void fly(int64_t id, double time, double place[3], double velocity[3]) {
  double rows;
  int axis;
  for (axis = 0; axis < 3; ++axis) {
    velocity[axis] = 2 * number_of(id, 4 + axis) - 1;
    place[axis] = number_of(id, axis) + time * velocity[axis];
  }
  rows = floor(place[0]);
  place[0] -= rows;
  place[1] += rows * RATE * time;
  place[1] -= floor(place[1]);
  place[2] -= floor(place[2]);
  velocity[1] += rows * RATE;
}

static int drift(plait_store* store, size_t first, size_t last, void* argument) {
  const fields* given = argument;
  double* place = plait_store_values(store, PLAIT_POSITION);
  const double* velocity = plait_store_values(store, given->velocity);
  size_t i;
  for (i = 3 * first; i < 3 * last; ++i) {
    place[i] += TIME_STEP * velocity[i];
  }
  return 0;
}

static int sum_flux(const plait_pair_block* block, void* argument) {
  const fields* given = argument;
  int32_t* counts = plait_store_values(block->store, given->count);
  double* flux = plait_store_values(block->store, given->flux);
  size_t i;
  size_t j;
  for (i = 0; i < block->targets.count; ++i) {
    const int32_t place = block->targets.places[i];
    for (j = 0; j < block->sources.count; ++j) {
      const float x = block->sources.x[j] - block->targets.x[i];
      const float y = block->sources.y[j] - block->targets.y[i];
      const float z = block->sources.z[j] - block->targets.z[i];
      if (sqrtf(x * x + y * y + z * z) < (float)REACH) {
        counts[place] += 1;
        flux[place] += block->sources.values[1][j] - block->targets.values[1][i]; /* the velocities along y */
      }
    }
  }
  return 0;
}

static void compare(const fields* given, double time) {
  size_t i;
  int64_t j;
  int axis;
  for (i = 0; i < plait_store_size(given->store); ++i) {
    const int64_t id = ((int64_t*)plait_store_values(given->store, PLAIT_ID))[i];
    const double* place = (double*)plait_store_values(given->store, PLAIT_POSITION) + 3 * i;
    const double* velocity = (double*)plait_store_values(given->store, given->velocity) + 3 * i;
    double expected[3];
    double expected_velocity[3];
    double flux = 0;
    int count = 0;
    fly(id, time, expected, expected_velocity);
    for (axis = 0; axis < 3; ++axis) {
      CHECK(fabs(place[axis] - expected[axis]) < 1e-12);
      CHECK(fabs(velocity[axis] - expected_velocity[axis]) < 1e-12);
    }
    for (j = 0; j < COUNT; ++j) {
      double other[3];
      double other_velocity[3];
      double rows;
      double square = 0;
      fly(j, time, other, other_velocity);
      rows = nearbyint(other[0] - expected[0]); /* the reach is short: only one row may be near */
      other[0] -= rows;
      other[1] += rows * RATE * time;
      other_velocity[1] += rows * RATE;
      for (axis = 0; axis < 3; ++axis) {
        const double d = other[axis] - expected[axis] - nearbyint(other[axis] - expected[axis]);
        square += d * d;
      }
      if (sqrt(square) < REACH) {
        ++count;
        flux += other_velocity[1] - expected_velocity[1];
      }
    }
    CHECK(((int32_t*)plait_store_values(given->store, given->count))[i] == count);
    CHECK(fabs(((double*)plait_store_values(given->store, given->flux))[i] - flux) < 1e-5);
  }
}

static fields make_store(plait_runtime* runtime) {
  fields given;
  int64_t i;
  given.store = NULL;
  CHECK_DONE(plait_store_create(&given.store));
  CHECK_DONE(plait_store_add_field(given.store, "velocity", PLAIT_DOUBLE, 3, &given.velocity));
  CHECK_DONE(plait_store_add_field(given.store, "reach", PLAIT_FLOAT, 1, &given.reach));
  CHECK_DONE(plait_store_add_field(given.store, "count", PLAIT_INT32, 1, &given.count));
  CHECK_DONE(plait_store_add_field(given.store, "flux", PLAIT_DOUBLE, 1, &given.flux));
  for (i = plait_rank(runtime); i < COUNT; i += plait_rank_count(runtime)) {
    size_t at = 0;
    CHECK_DONE(plait_store_add(given.store, 1, &at));
    ((int64_t*)plait_store_values(given.store, PLAIT_ID))[at] = i;
    ((float*)plait_store_values(given.store, given.reach))[at] = (float)REACH;
    fly(i,
        0,
        (double*)plait_store_values(given.store, PLAIT_POSITION) + 3 * at,
        (double*)plait_store_values(given.store, given.velocity) + 3 * at);
  }
  return given;
}

int main(int argc, char** argv) {
  plait_runtime* runtime = begin(&argc, &argv);
  fields given = make_store(runtime);
  plait_system* system = NULL;
  plait_system_options options;
  plait_short_range_options search;
  const int results[] = {given.count, given.flux};
  int axis;
  int step;
  CHECK_DONE(plait_system_options_init(&options, sizeof options));
  options.shear_rate = RATE;
  CHECK(plait_system_create(runtime, given.store, &options, &system) == PLAIT_BAD_ARGUMENT);
  CHECK(strstr(plait_last_error(), "make both axes periodic") != NULL);
  for (axis = 0; axis < 3; ++axis) {
    options.high[axis] = 1;
    options.periodic[axis] = 1;
  }
  options.shear_velocity = given.reach;
  CHECK(plait_system_create(runtime, given.store, &options, &system) == PLAIT_BAD_ARGUMENT);
  options.shear_velocity = given.velocity;
  CHECK_DONE(plait_system_create(runtime, given.store, &options, &system));
  CHECK_DONE(plait_short_range_options_init(&search, sizeof search));
  search.reach = given.reach;
  search.targets = search.sources = &given.velocity;
  search.target_count = search.source_count = 1;
  search.results = results;
  search.result_count = 2;
  search.kernel = sum_flux;
  search.argument = &given;
  CHECK_DONE(plait_system_add_short_range(system, &search));
  CHECK_DONE(plait_system_before(system, "drift", drift, &given));
  CHECK(plait_system_set_time(system, NAN) == PLAIT_BAD_ARGUMENT && strstr(plait_last_error(), "finite") != NULL);
  for (step = 1; step <= STEPS; ++step) {
    CHECK_DONE(plait_system_set_time(system, step * TIME_STEP));
    CHECK_DONE(plait_system_step(system));
    if (step % 4 == 0) {
      compare(&given, step * TIME_STEP);
    }
  }
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&given.store));
  return end(runtime);
}
