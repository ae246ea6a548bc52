/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that particles choose, and stages, on any number of ranks, beside a direct computation for each particle. It
 * prints nothing when all is right. */
#include <math.h>
#include <string.h>

#include "c_particles/check.h"

#define CHECK(fact) check((fact), #fact, __FILE__, __LINE__)
#define CHECK_DONE(call) check((call) == PLAIT_SUCCESS, #call, __FILE__, __LINE__)

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
  CHECK_DONE(plait_store_add_field(store, name, type, components, &field));
  return field;
}

/* Particle i begins on rank i modulo their number. */
static swarm make_swarm(plait_runtime* runtime) {
  swarm made;
  int64_t id;
  int axis;
  made.store = NULL;
  CHECK_DONE(plait_store_create(&made.store));
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
    CHECK_DONE(plait_store_add(made.store, 1, &at));
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
  return plait_store_values(given->store, PLAIT_ID);
}

/* ---- the parts of steps ---- */

static int limit(plait_store* store, size_t count, const int32_t* places, double* longest, void* argument) {
  const int64_t* ids = plait_store_values(store, PLAIT_ID);
  size_t k;
  (void)argument;
  for (k = 0; k < count; ++k) {
    longest[k] = fmin(longest[k], step_of(ids[places[k]]));
  }
  return 0;
}

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
  plait_integrator integrator;
  const int predicted[] = {given->velocity_now, given->drifted};
  CHECK_DONE(plait_integrator_init(&integrator, sizeof integrator));
  integrator.velocity = given->velocity;
  integrator.acceleration = given->acceleration;
  integrator.velocity_now = given->velocity_now;
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

static void take_steps(plait_system* system, int lengths) {
  plait_time_steps steps;
  CHECK_DONE(plait_time_steps_init(&steps, sizeof steps));
  CHECK(steps.lengths == PLAIT_INDIVIDUAL_STEPS && steps.begin == 0 && steps.end == 1 && isinf(steps.step_max));
  steps.lengths = lengths;
  steps.begin = BEGIN;
  steps.end = END;
  CHECK_DONE(plait_system_take_steps(system, &steps));
}

/* `write` is the field that the function changes. */
static void add_stage(
    plait_system* system, const char* name, uint64_t kinds, int write, plait_stage_function function, swarm* given) {
  plait_stage_options options;
  const int writes[] = {write, given->pulls};
  CHECK_DONE(plait_stage_options_init(&options, sizeof options));
  CHECK(options.name == NULL && options.kinds == ~(uint64_t)0);
  options.name = name;
  options.kinds = kinds;
  options.writes = writes;
  options.write_count = 2;
  options.function = function;
  options.argument = given;
  CHECK_DONE(plait_system_add_stage(system, &options));
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
  integrate(system, &given, 0);
  CHECK_DONE(plait_system_limit_steps_by(system, limit, NULL));
  take_steps(system, lengths);
  CHECK_DONE(plait_system_run_until(system, END));
  compare_neighbours(&given);
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&given.store));
}

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
  integrate(system, &given, 0);
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
  oscillate(runtime, PLAIT_INDIVIDUAL_STEPS, 0);
  oscillate(runtime, PLAIT_INDIVIDUAL_STEPS, 1);
  oscillate(runtime, PLAIT_EQUAL_STEPS, 0);
  oscillate(runtime, PLAIT_EQUAL_STEPS, 1);
  sum_over_neighbours(runtime, PLAIT_INDIVIDUAL_STEPS);
  sum_over_neighbours(runtime, PLAIT_EQUAL_STEPS);
  limit_by_neighbours(runtime, 0);
  limit_by_neighbours(runtime, 1);
  limit_by_neighbours(runtime, 2);
  limit_by_neighbours(runtime, ~(uint64_t)0);
  fall_in_own_steps(runtime);
  return end(runtime);
}
