/* SPDX-License-Identifier: Apache-2.0 */
/* Stages over neighbours, and long-range forces, in steps that particles choose, on any number of ranks, beside direct
 * sums. It prints nothing when all is right. */
#include <math.h>
#include <string.h>

#include "c_particles/swarm.h"

#define CHECK(fact) check((fact), #fact, __FILE__, __LINE__)
#define CHECK_DONE(call) check((call) == PLAIT_SUCCESS, #call, __FILE__, __LINE__)

/* ---- neighbours ---- */

static int count_near(const plait_pair_block* block, void* argument) {
  const swarm* given = argument;
  float* near = plait_store_values(block->store, given->near);
  size_t i;
  size_t j;
  for (i = 0; i < block->targets.count; ++i) {
    for (j = 0; j < block->sources.count; ++j) {
      const float x = block->sources.x[j] - block->targets.x[i];
      const float y = block->sources.y[j] - block->targets.y[i];
      const float z = block->sources.z[j] - block->targets.z[i];
      near[block->targets.places[i]] += sqrtf(x * x + y * y + z * z) < (float)REACH ? 1 : 0;
    }
  }
  return 0;
}

static int sum_near(const plait_pair_block* block, void* argument) {
  const swarm* given = argument;
  float* sum = plait_store_values(block->store, given->sum);
  size_t i;
  size_t j;
  for (i = 0; i < block->targets.count; ++i) {
    for (j = 0; j < block->sources.count; ++j) {
      const float x = block->sources.x[j] - block->targets.x[i];
      const float y = block->sources.y[j] - block->targets.y[i];
      const float z = block->sources.z[j] - block->targets.z[i];
      const int is_near = sqrtf(x * x + y * y + z * z) < (float)REACH;
      sum[block->targets.places[i]] += is_near ? block->sources.values[0][j] : 0;
    }
  }
  return 0;
}

static const float MARK = 1000;

static int mark(plait_store* store, size_t count, const int32_t* places, void* argument) {
  const swarm* given = argument;
  float* near = plait_store_values(store, given->near);
  size_t k;
  for (k = 0; k < count; ++k) {
    near[places[k]] += MARK;
  }
  return 0;
}

static int are_near(int64_t a, int64_t b, double time) {
  double square = 0;
  int axis;
  for (axis = 0; axis < 3; ++axis) {
    const double d = place_of(b, axis) - place_of(a, axis) + time * (velocity_of(b, axis) - velocity_of(a, axis));
    square += (d - nearbyint(d)) * (d - nearbyint(d));
  }
  return sqrt(square) < REACH;
}

static void compare_neighbours(const swarm* given) {
  float near[COUNT];
  size_t i;
  int64_t a;
  int64_t b;
  for (a = 0; a < COUNT; ++a) {
    near[a] = a % 2 == 1 ? MARK : 0;
    for (b = 0; b < COUNT; ++b) {
      near[a] += are_near(a, b, END - BEGIN) ? 1 : 0;
    }
  }
  for (i = 0; i < plait_store_size(given->store); ++i) {
    float sum = 0;
    a = ids_of(given)[i];
    for (b = 0; b < COUNT; ++b) {
      sum += are_near(a, b, END - BEGIN) ? near[b] : 0;
    }
    CHECK(((float*)plait_store_values(given->store, given->near))[i] == near[a]);
    CHECK(((float*)plait_store_values(given->store, given->sum))[i] == sum);
  }
}

/* A stage counts neighbours, the next changes the counts of one kind, and the last sums the counts of neighbours. */
static void sum_over_neighbours(plait_runtime* runtime, int lengths) {
  swarm given = make_swarm(runtime);
  plait_system* system = NULL;
  plait_system_options options;
  plait_short_range_options search;
  plait_integrator integrator;
  int axis;
  CHECK_DONE(plait_system_options_init(&options, sizeof options));
  CHECK(options.cell_reach == -1 && options.limited_kinds == ~(uint64_t)0);
  for (axis = 0; axis < 3; ++axis) {
    options.high[axis] = 1;
    options.periodic[axis] = 1;
  }
  CHECK_DONE(plait_system_create(runtime, given.store, &options, &system));
  CHECK_DONE(plait_short_range_options_init(&search, sizeof search));
  search.reach = given.reach;
  search.results = &given.near;
  search.result_count = 1;
  search.kernel = count_near;
  search.argument = &given;
  CHECK_DONE(plait_system_add_pair_stage(system, "count", &search));
  add_stage(system, "mark", 2, given.near, mark, &given);
  search.sources = &given.near;
  search.source_count = 1;
  search.results = &given.sum;
  search.kernel = sum_near;
  CHECK_DONE(plait_system_add_pair_stage(system, "sum", &search));
  integrator = leapfrog(&given);
  CHECK_DONE(plait_system_integrate(system, &integrator));
  CHECK_DONE(plait_system_limit_steps_by(system, limit, NULL));
  take_steps(system, lengths);
  CHECK_DONE(plait_system_run_until(system, END));
  compare_neighbours(&given);
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&given.store));
}

/* ---- long range ---- */

static const double SOFTENING = 0.2;

typedef struct bodies {
  double x[COUNT][3], v[COUNT][3], sum[COUNT][4];
} bodies;

/* The acceleration and the potential of one. */
static void attract(bodies* all, int64_t i) {
  int64_t j;
  int axis;
  memset(all->sum[i], 0, sizeof all->sum[i]);
  for (j = 0; j < COUNT; ++j) {
    double square = SOFTENING * SOFTENING;
    double r;
    for (axis = 0; axis < 3; ++axis) {
      square += (all->x[j][axis] - all->x[i][axis]) * (all->x[j][axis] - all->x[i][axis]);
    }
    r = sqrt(square);
    for (axis = 0; axis < 3; ++axis) {
      all->sum[i][axis] += mass_of(j) / (r * r * r) * (all->x[j][axis] - all->x[i][axis]);
    }
    all->sum[i][3] -= i == j ? 0 : mass_of(j) / r;
  }
}

/* Half a kick of the bodies whose steps begin or end after so many short steps. */
static void half_kick(bodies* all, int number) {
  int64_t i;
  int axis;
  for (i = 0; i < COUNT; ++i) {
    if (fmod(number * SHORT_STEP, step_of(i)) == 0) {
      for (axis = 0; axis < 3; ++axis) {
        all->v[i][axis] += step_of(i) / 2 * all->sum[i][axis];
      }
    }
  }
}

static void fall(bodies* all) {
  const int steps = (int)((END - BEGIN) / SHORT_STEP);
  int number;
  int64_t i;
  int axis;
  for (i = 0; i < COUNT; ++i) {
    for (axis = 0; axis < 3; ++axis) {
      all->x[i][axis] = place_of(i, axis);
      all->v[i][axis] = velocity_of(i, axis);
    }
  }
  for (number = 0; number <= steps; ++number) {
    for (i = 0; i < COUNT; ++i) {
      attract(all, i);
    }
    if (number > 0) {
      half_kick(all, number);
    }
    if (number < steps) {
      half_kick(all, number);
      for (i = 0; i < COUNT; ++i) {
        for (axis = 0; axis < 3; ++axis) {
          all->x[i][axis] += SHORT_STEP * all->v[i][axis];
        }
      }
    }
  }
}

static void compare_bodies(const swarm* given) {
  static bodies exact;
  size_t i;
  int axis;
  fall(&exact);
  for (i = 0; i < plait_store_size(given->store); ++i) {
    const int64_t id = ids_of(given)[i];
    for (axis = 0; axis < 3; ++axis) {
      CHECK(fabs(((double*)plait_store_values(given->store, PLAIT_POSITION))[3 * i + (size_t)axis] -
                 exact.x[id][axis]) < 1e-9);
      CHECK(fabs(((double*)plait_store_values(given->store, given->velocity))[3 * i + (size_t)axis] -
                 exact.v[id][axis]) < 1e-9);
    }
    CHECK(fabs(((double*)plait_store_values(given->store, given->potential))[i] - exact.sum[id][3]) < 1e-9);
  }
}

/* Bodies that other ranks have sent drift by their velocities. */
static void fall_in_own_steps(plait_runtime* runtime) {
  swarm given = make_swarm(runtime);
  plait_system* system = NULL;
  plait_long_range_options gravity;
  plait_integrator integrator;
  CHECK_DONE(plait_system_create(runtime, given.store, NULL, &system));
  CHECK_DONE(plait_long_range_options_init(&gravity, sizeof gravity));
  CHECK(gravity.velocity == -1);
  gravity.charge = given.mass;
  gravity.acceleration = given.acceleration;
  gravity.potential = given.potential;
  gravity.theta = 0;
  gravity.softening = SOFTENING;
  gravity.velocity = given.mass;
  CHECK(plait_system_add_long_range(system, &gravity) == PLAIT_BAD_ARGUMENT);
  gravity.velocity = given.velocity;
  CHECK_DONE(plait_system_add_long_range(system, &gravity));
  integrator = leapfrog(&given);
  CHECK_DONE(plait_system_integrate(system, &integrator));
  CHECK_DONE(plait_system_limit_steps_by(system, limit, NULL));
  take_steps(system, PLAIT_INDIVIDUAL_STEPS);
  CHECK_DONE(plait_system_run_until(system, END));
  CHECK_DONE(plait_system_synchronise(system));
  compare_bodies(&given);
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&given.store));
}

int main(int argc, char** argv) {
  plait_runtime* runtime = begin(&argc, &argv);
  sum_over_neighbours(runtime, PLAIT_INDIVIDUAL_STEPS);
  sum_over_neighbours(runtime, PLAIT_EQUAL_STEPS);
  fall_in_own_steps(runtime);
  return end(runtime);
}
