/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that the other programs leave at their defaults: ranks in a given grid, coordinates, reused trees, a
 * cut-off, kinds of targets, and a search by the reach of sources; beside direct sums. It prints nothing when all is
 * right. */
#include <math.h>

#include "c_particles/check.h"

#define CHECK(fact) check((fact), #fact, __FILE__, __LINE__)
#define CHECK_DONE(call) check((call) == PLAIT_SUCCESS, #call, __FILE__, __LINE__)

enum { COUNT = 300, STEPS = 5 };
static const double TIME_STEP = 0.015625;
static const double CUTOFF = 0.5;
static const double SOFTENING = 0.05;
static const double COUPLING = 2;
static const double FACTOR = 0.5;

typedef struct cloud {
  plait_store* store;
  int mass, velocity, acceleration, potential, reach, near;
} cloud;

static double mass_of(int64_t id) {
  return (1 + number_of(id, 3)) / COUNT;
}

static float reach_of(int64_t id) {
  return (float)(0.2 + 0.4 * number_of(id, 7));
}

static double place_of(int64_t id, int axis, double time) {
  return number_of(id, axis) - 0.5 + time * (number_of(id, 4 + axis) - 0.5);
}

static int add_numbers(plait_store* store, const char* name, int type, int components) {
  int field = -1;
  CHECK_DONE(plait_store_add_field(store, name, type, components, &field));
  return field;
}

static cloud make_cloud(plait_runtime* runtime) {
  cloud made;
  int64_t id;
  made.store = NULL;
  CHECK_DONE(plait_store_create(&made.store));
  made.mass = add_numbers(made.store, "mass", PLAIT_DOUBLE, 1);
  made.velocity = add_numbers(made.store, "velocity", PLAIT_DOUBLE, 3);
  made.acceleration = add_numbers(made.store, "acceleration", PLAIT_DOUBLE, 3);
  made.potential = add_numbers(made.store, "potential", PLAIT_DOUBLE, 1);
  made.reach = add_numbers(made.store, "reach", PLAIT_FLOAT, 1);
  made.near = add_numbers(made.store, "near", PLAIT_FLOAT, 1);
  for (id = plait_rank(runtime); id < COUNT; id += plait_rank_count(runtime)) {
    size_t at = 0;
    int axis;
    CHECK_DONE(plait_store_add(made.store, 1, &at));
    ((int64_t*)plait_store_values(made.store, PLAIT_ID))[at] = id;
    ((uint8_t*)plait_store_values(made.store, PLAIT_KIND))[at] = (uint8_t)(id % 2);
    ((double*)plait_store_values(made.store, made.mass))[at] = mass_of(id);
    ((float*)plait_store_values(made.store, made.reach))[at] = reach_of(id);
    for (axis = 0; axis < 3; ++axis) {
      ((double*)plait_store_values(made.store, PLAIT_POSITION))[3 * at + (size_t)axis] = place_of(id, axis, 0);
      ((double*)plait_store_values(made.store, made.velocity))[3 * at + (size_t)axis] = number_of(id, 4 + axis) - 0.5;
    }
  }
  return made;
}

static int drift(plait_store* store, size_t first, size_t last, void* argument) {
  double* position = plait_store_values(store, PLAIT_POSITION);
  const double* velocity = plait_store_values(store, ((const cloud*)argument)->velocity);
  size_t i;
  for (i = 3 * first; i < 3 * last; ++i) {
    position[i] += TIME_STEP * velocity[i];
  }
  return 0;
}

/* Counts the sources within whose reach a target is. Padding is far away. */
static int count_near(const plait_pair_block* block, void* argument) {
  float* near = plait_store_values(block->store, ((const cloud*)argument)->near);
  const float* reach = block->sources.values[0];
  size_t i;
  size_t j;
  for (i = 0; i < block->targets.count; ++i) {
    for (j = 0; j < block->sources.padded_count; ++j) {
      const float x = block->sources.x[j] - block->targets.x[i];
      const float y = block->sources.y[j] - block->targets.y[i];
      const float z = block->sources.z[j] - block->targets.z[i];
      near[block->targets.places[i]] += sqrtf(x * x + y * y + z * z) < (float)FACTOR * reach[j] ? 1 : 0;
    }
  }
  return 0;
}

/* Acts on kind 0. */
static void add_gravity(plait_system* system, const cloud* given) {
  plait_long_range_options gravity;
  CHECK_DONE(plait_long_range_options_init(&gravity, sizeof gravity));
  gravity.charge = given->mass;
  gravity.acceleration = given->acceleration;
  gravity.potential = given->potential;
  gravity.target_kinds = 1;
  gravity.theta = 0;
  gravity.softening = SOFTENING;
  gravity.coupling = COUPLING;
  gravity.cutoff = CUTOFF;
  gravity.order = PLAIT_QUADRUPOLE;
  gravity.lets = PLAIT_LETS_FAST;
  gravity.measures_sizes = 1;
  gravity.reuses_lists = 1;
  CHECK_DONE(plait_system_add_long_range(system, &gravity));
}

/* Has targets of kind 1. */
static void add_search(plait_system* system, cloud* given) {
  plait_short_range_options search;
  CHECK_DONE(plait_short_range_options_init(&search, sizeof search));
  CHECK(search.search == PLAIT_GATHER && search.reach_factor == 1);
  search.search = PLAIT_SCATTER;
  search.reach = given->reach;
  search.reach_factor = FACTOR;
  search.target_kinds = 2;
  search.sources = &given->reach;
  search.source_count = 1;
  search.results = &given->near;
  search.result_count = 1;
  search.kernel = count_near;
  search.argument = given;
  CHECK_DONE(plait_system_add_short_range(system, &search));
}

/* The acceleration by all bodies nearer than the cut-off, and the count of those whose reach has the particle. */
static double sum_directly(int64_t id, double time, double acceleration[3]) {
  double count = 0;
  int64_t j;
  int axis;
  acceleration[0] = acceleration[1] = acceleration[2] = 0;
  for (j = 0; j < COUNT; ++j) {
    double d[3];
    double square = 0;
    for (axis = 0; axis < 3; ++axis) {
      d[axis] = place_of(j, axis, time) - place_of(id, axis, time);
      square += d[axis] * d[axis];
    }
    count += sqrt(square) < FACTOR * (double)reach_of(j) ? 1 : 0;
    for (axis = 0; axis < 3 && square < CUTOFF * CUTOFF; ++axis) {
      acceleration[axis] += COUPLING * mass_of(j) * d[axis] / pow(square + SOFTENING * SOFTENING, 1.5);
    }
  }
  return count;
}

static void compare(const cloud* given, double time) {
  size_t i;
  int axis;
  for (i = 0; i < plait_store_size(given->store); ++i) {
    const int64_t id = ((int64_t*)plait_store_values(given->store, PLAIT_ID))[i];
    const double* found = (double*)plait_store_values(given->store, given->acceleration) + 3 * i;
    double exact[3];
    const double count = sum_directly(id, time, exact);
    for (axis = 0; axis < 3; ++axis) {
      CHECK(fabs(found[axis] - (id % 2 == 0 ? exact[axis] : 0)) < 1e-9);
    }
    CHECK(((float*)plait_store_values(given->store, given->near))[i] == (id % 2 == 1 ? (float)count : 0));
    CHECK(id % 2 == 1 || ((float*)plait_store_values(given->store, PLAIT_COST))[i] > 0);
  }
}

/* Between two builds of trees, particles stay on their ranks. */
static void sum_with(plait_runtime* runtime, int coordinates) {
  cloud given = make_cloud(runtime);
  plait_system* system = NULL;
  plait_system_options options;
  plait_step_times times;
  int step;
  CHECK_DONE(plait_system_options_init(&options, sizeof options));
  options.coordinates = coordinates;
  options.grid[0] = plait_rank_count(runtime) + 1;
  options.grid[1] = options.grid[2] = 1;
  CHECK(plait_system_create(runtime, given.store, &options, &system) == PLAIT_BAD_ARGUMENT);
  options.grid[0] = plait_rank_count(runtime);
  options.steps_between_decompositions = 0;
  options.steps_between_trees = 2;
  CHECK_DONE(plait_system_create(runtime, given.store, &options, &system));
  add_gravity(system, &given);
  add_search(system, &given);
  CHECK_DONE(plait_system_after(system, "drift", drift, &given));
  for (step = 0; step < STEPS; ++step) {
    CHECK_DONE(plait_system_step(system));
  }
  CHECK_DONE(plait_system_update(system)); /* after the last drift */
  compare(&given, STEPS * TIME_STEP);
  CHECK_DONE(plait_system_take_times(system, &times));
  CHECK(times.steps == STEPS && times.wall_seconds > 0 && times.other_seconds > 0 && times.short_range_seconds > 0);
  CHECK_DONE(plait_system_take_times(system, &times));
  CHECK(times.steps == 0 && times.interactions == 0);
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&given.store));
}

int main(int argc, char** argv) {
  plait_runtime* runtime = begin(&argc, &argv);
  sum_with(runtime, PLAIT_CARTESIAN);
  sum_with(runtime, PLAIT_CYLINDRICAL);
  return end(runtime);
}
