/* SPDX-License-Identifier: Apache-2.0 */
/* Stores, interactions, neighbours and steps of one length, in C99 on any number of ranks. It prints nothing when all
 * is right. Every rank can compute all particles from their ids, and so compares with direct sums. */
#include <math.h>
#include <string.h>

#include "c_particles/check.h"

#define CHECK(fact) check((fact), #fact, __FILE__, __LINE__)
#define CHECK_DONE(call) check((call) == PLAIT_SUCCESS, #call, __FILE__, __LINE__)

enum { COUNT = 400, STEPS = 5 };
static const double REACH = 0.2;
static const double TIME_STEP = 0.125;

static double mass_of(int64_t id) {
  return (1 + number_of(id, 3)) / COUNT;
}

typedef struct gas {
  plait_store* store;
  int mass, velocity, acceleration, potential, reach, density, neighbours;
} gas;

/* All particles begin on the last rank. */
static gas make_gas(plait_runtime* runtime) {
  gas made;
  size_t first = 7;
  size_t i;
  int axis;
  made.store = NULL;
  CHECK_DONE(plait_store_create(&made.store));
  CHECK_DONE(plait_store_add_field(made.store, "mass", PLAIT_DOUBLE, 1, &made.mass));
  CHECK_DONE(plait_store_add_field(made.store, "velocity", PLAIT_DOUBLE, 3, &made.velocity));
  CHECK_DONE(plait_store_add_field(made.store, "acceleration", PLAIT_DOUBLE, 3, &made.acceleration));
  CHECK_DONE(plait_store_add_field(made.store, "potential", PLAIT_DOUBLE, 1, &made.potential));
  CHECK_DONE(plait_store_add_field(made.store, "reach", PLAIT_FLOAT, 1, &made.reach));
  CHECK_DONE(plait_store_add_field(made.store, "density", PLAIT_DOUBLE, 1, &made.density));
  CHECK_DONE(plait_store_add_field(made.store, "neighbours", PLAIT_INT32, 2, &made.neighbours));
  CHECK(plait_store_values(made.store, made.mass) == NULL);
  if (plait_rank(runtime) == plait_rank_count(runtime) - 1) {
    double (*position)[3];
    double (*velocity)[3];
    CHECK_DONE(plait_store_add(made.store, COUNT, &first));
    CHECK(first == 0);
    position = plait_store_values(made.store, PLAIT_POSITION);
    velocity = plait_store_values(made.store, made.velocity);
    for (i = 0; i < COUNT; ++i) {
      ((int64_t*)plait_store_values(made.store, PLAIT_ID))[i] = (int64_t)i;
      ((uint8_t*)plait_store_values(made.store, PLAIT_KIND))[i] = (uint8_t)(i % 2);
      ((double*)plait_store_values(made.store, made.mass))[i] = mass_of((int64_t)i);
      ((float*)plait_store_values(made.store, made.reach))[i] = (float)REACH;
      for (axis = 0; axis < 3; ++axis) {
        position[i][axis] = number_of((int64_t)i, axis);
        velocity[i][axis] = number_of((int64_t)i, 4 + axis) - 0.5;
      }
    }
  }
  return made;
}

/* ---- stores ---- */

static void refuse_wrong_fields(gas* particles) {
  int field = -1;
  int type = 0;
  int components = 0;
  CHECK(plait_store_add_field(particles->store, "mass", PLAIT_DOUBLE, 1, &field) == PLAIT_BAD_ARGUMENT);
  CHECK(plait_store_add_field(particles->store, "none", PLAIT_DOUBLE, 0, &field) == PLAIT_BAD_ARGUMENT);
  CHECK(field == -1);
  CHECK_DONE(plait_store_describe_field(particles->store, particles->neighbours, &type, &components));
  CHECK(type == PLAIT_INT32 && components == 2);
  CHECK_DONE(plait_store_describe_field(particles->store, PLAIT_KIND, &type, &components));
  CHECK(type == -1 && components == 1);
  CHECK(plait_store_describe_field(particles->store, 99, &type, &components) == PLAIT_BAD_ARGUMENT);
  CHECK(plait_store_values(particles->store, 99) == NULL && strstr(plait_last_error(), "no field 99") != NULL);
}

static void remove_some(void) {
  plait_store* store = NULL;
  const int32_t places[] = {0, 2};
  const int32_t wrong[] = {2, 0};
  const int64_t* ids;
  int64_t i;
  CHECK_DONE(plait_store_create(&store));
  CHECK_DONE(plait_store_add(store, 5, NULL));
  for (i = 0; i < 5; ++i) {
    ((int64_t*)plait_store_values(store, PLAIT_ID))[i] = i;
  }
  CHECK(plait_store_remove(store, 2, wrong) == PLAIT_BAD_ARGUMENT);
  CHECK_DONE(plait_store_remove(store, 2, places));
  CHECK(plait_store_size(store) == 3);
  ids = plait_store_values(store, PLAIT_ID);
  CHECK(ids[0] + ids[1] + ids[2] == 1 + 3 + 4);
  CHECK_DONE(plait_store_free(&store));
  CHECK(store == NULL);
}

/* ---- long range ---- */

static const double SOFTENING = 0.05;

/* Monopoles of cells; bodies in double or in single precision. */
static int gravity(const plait_tree_block* block, void* calls) {
  const plait_cells* const lists[] = {&block->near_bodies, &block->cells};
  size_t i;
  size_t j;
  int list;
  (void)calls;
  for (i = 0; i < block->count; ++i) {
    double* const sum = block->sums[i];
    for (j = 0; j < block->bodies.count; ++j) {
      const double x = block->bodies.x[j] - block->x[i];
      const double y = block->bodies.y[j] - block->y[i];
      const double z = block->bodies.z[j] - block->z[i];
      const double r = 1 / sqrt(x * x + y * y + z * z + block->softening2);
      const double m = block->bodies.charge[j];
      sum[0] += m * r * r * r * x;
      sum[1] += m * r * r * r * y;
      sum[2] += m * r * r * r * z;
      sum[3] -= m * r;
    }
    for (list = 0; list < 2; ++list) {
      const plait_cells* const from = lists[list];
      for (j = 0; j < from->count; ++j) {
        const double x = from->x[j] - block->near_x[i];
        const double y = from->y[j] - block->near_y[i];
        const double z = from->z[j] - block->near_z[i];
        const double r = 1 / sqrt(x * x + y * y + z * z + block->softening2);
        sum[0] += from->charge[j] * r * r * r * x;
        sum[1] += from->charge[j] * r * r * r * y;
        sum[2] += from->charge[j] * r * r * r * z;
        sum[3] -= from->charge[j] * r;
      }
    }
  }
  return 0;
}

/* The largest error of an acceleration, relative to its typical size of 1, and of a potential. `self`: whether the
 * potential of a particle in its own centre is included. */
static double gravity_error(const gas* particles, int self) {
  double (*position)[3] = plait_store_values(particles->store, PLAIT_POSITION);
  double (*acceleration)[3] = plait_store_values(particles->store, particles->acceleration);
  const double* potential = plait_store_values(particles->store, particles->potential);
  const int64_t* ids = plait_store_values(particles->store, PLAIT_ID);
  double error = 0;
  size_t i;
  int64_t j;
  int axis;
  for (i = 0; i < plait_store_size(particles->store); ++i) {
    double exact[4] = {0, 0, 0, 0};
    for (j = 0; j < COUNT; ++j) {
      double d[3];
      double r2 = SOFTENING * SOFTENING;
      for (axis = 0; axis < 3; ++axis) {
        d[axis] = number_of(j, axis) - position[i][axis];
        r2 += d[axis] * d[axis];
      }
      for (axis = 0; axis < 3; ++axis) {
        exact[axis] += mass_of(j) / (r2 * sqrt(r2)) * d[axis];
      }
      exact[3] -= j == ids[i] && !self ? 0 : mass_of(j) / sqrt(r2);
    }
    for (axis = 0; axis < 3; ++axis) {
      error = fmax(error, fabs(acceleration[i][axis] - exact[axis]));
    }
    error = fmax(error, fabs(potential[i] - exact[3]));
  }
  return error;
}

static void sum_gravity(plait_runtime* runtime, plait_precision precision, plait_tree_kernel kernel, double error) {
  gas particles = make_gas(runtime);
  plait_system* system = NULL;
  plait_long_range_options options;
  plait_step_times times;
  double total;
  CHECK_DONE(plait_system_create(runtime, particles.store, NULL, &system));
  CHECK_DONE(plait_long_range_options_init(&options, sizeof options));
  CHECK(plait_system_add_long_range(system, &options) == PLAIT_BAD_ARGUMENT); /* without fields */
  options.charge = particles.mass;
  options.acceleration = particles.acceleration;
  options.potential = particles.potential;
  options.softening = SOFTENING;
  options.theta = 0; /* direct sums */
  options.order = PLAIT_MONOPOLE;
  options.precision = precision;
  options.kernel = kernel;
  CHECK_DONE(plait_system_add_long_range(system, &options));
  CHECK_DONE(plait_system_update(system));
  total = (double)plait_store_size(particles.store);
  CHECK_DONE(plait_system_sum(system, 1, &total));
  CHECK(total == COUNT);
  CHECK(plait_store_size(particles.store) < COUNT || plait_rank_count(runtime) == 1);
  CHECK(gravity_error(&particles, kernel != NULL) < error);
  CHECK_DONE(plait_system_take_times(system, &times));
  CHECK(times.interactions >= (int64_t)plait_store_size(particles.store) * COUNT && times.kernel_seconds > 0);
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&particles.store));
}

static double charge_of(int64_t id) {
  return id % 2 == 0 ? mass_of(id) : -mass_of(id);
}

/* Charges of both signs, by cells: the error of the forces on all ranks. */
static double charges_error(plait_runtime* runtime, int has_both_signs) {
  gas particles = make_gas(runtime);
  plait_system* system = NULL;
  plait_long_range_options options;
  double sums[2] = {0, 0}; /* of squared errors and forces */
  size_t i;
  int64_t j;
  int axis;
  for (i = 0; i < plait_store_size(particles.store); ++i) {
    ((double*)plait_store_values(particles.store, particles.mass))[i] = charge_of((int64_t)i);
  }
  CHECK_DONE(plait_system_create(runtime, particles.store, NULL, &system));
  CHECK_DONE(plait_long_range_options_init(&options, sizeof options));
  options.charge = particles.mass;
  options.acceleration = particles.acceleration;
  options.potential = particles.potential;
  options.order = PLAIT_MONOPOLE;
  options.softening = SOFTENING;
  options.coupling = -1;
  options.has_both_signs = has_both_signs;
  CHECK_DONE(plait_system_add_long_range(system, &options));
  CHECK_DONE(plait_system_update(system));
  for (i = 0; i < plait_store_size(particles.store); ++i) {
    const int64_t id = ((int64_t*)plait_store_values(particles.store, PLAIT_ID))[i];
    const double* found = (double*)plait_store_values(particles.store, particles.acceleration) + 3 * i;
    double exact[3] = {0, 0, 0};
    for (j = 0; j < COUNT; ++j) {
      double d[3];
      double square = SOFTENING * SOFTENING;
      for (axis = 0; axis < 3; ++axis) {
        d[axis] = number_of(j, axis) - number_of(id, axis);
        square += d[axis] * d[axis];
      }
      for (axis = 0; axis < 3; ++axis) {
        exact[axis] -= charge_of(j) * d[axis] / (square * sqrt(square));
      }
    }
    for (axis = 0; axis < 3; ++axis) {
      sums[0] += (found[axis] - exact[axis]) * (found[axis] - exact[axis]);
      sums[1] += exact[axis] * exact[axis];
    }
  }
  CHECK_DONE(plait_system_sum(system, 2, sums));
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&particles.store));
  return sqrt(sums[0] / sums[1]);
}

static void sum_charges(plait_runtime* runtime) {
  const double error = charges_error(runtime, 1);
  CHECK(error < 0.01);
  CHECK(charges_error(runtime, 0) > 2 * error);
}

/* ---- short range ---- */

static double nearest(double d) {
  return d - nearbyint(d);
}

/* The density of kind 0 around each particle, weighted by distance, from all neighbours. */
static int sum_density(const plait_pair_block* block, void* argument) {
  const gas* particles = argument;
  double* density = plait_store_values(block->store, particles->density);
  int32_t (*neighbours)[2] = plait_store_values(block->store, particles->neighbours);
  const float* const mass = block->sources.values[0];
  const float* const speed_z = block->sources.values[3];
  const float* const reach = block->targets.values[0];
  size_t i;
  size_t j;
  for (i = 0; i < block->targets.count; ++i) {
    const int32_t place = block->targets.places[i];
    for (j = 0; j < block->sources.count; ++j) {
      const float x = block->sources.x[j] - block->targets.x[i];
      const float y = block->sources.y[j] - block->targets.y[i];
      const float z = block->sources.z[j] - block->targets.z[i];
      const float r = sqrtf(x * x + y * y + z * z);
      if (r < reach[i]) {
        density[place] += mass[j] * (1 - r / reach[i]);
        neighbours[place][speed_z[j] < 0] += 1;
      }
    }
  }
  return 0;
}

static void sum_short_range(plait_runtime* runtime) {
  gas particles = make_gas(runtime);
  plait_system* system = NULL;
  plait_system_options options;
  plait_short_range_options search;
  const int sources[] = {particles.mass, particles.velocity};
  const int results[] = {particles.density, particles.neighbours};
  size_t i;
  int64_t j;
  int axis;
  CHECK_DONE(plait_system_options_init(&options, sizeof options));
  for (axis = 0; axis < 3; ++axis) {
    options.high[axis] = 1;
    options.periodic[axis] = 1;
  }
  CHECK_DONE(plait_system_create(runtime, particles.store, &options, &system));
  CHECK_DONE(plait_short_range_options_init(&search, sizeof search));
  search.reach = particles.mass;
  search.kernel = sum_density;
  search.argument = &particles;
  search.targets = &particles.reach;
  search.target_count = 1;
  search.sources = sources;
  search.source_count = 2;
  search.results = results;
  search.result_count = 2;
  search.source_kinds = 1;                                                    /* kind 0 */
  CHECK(plait_system_add_short_range(system, &search) == PLAIT_BAD_ARGUMENT); /* the reach is a double */
  CHECK(strstr(plait_last_error(), "one float") != NULL);
  search.reach = particles.reach;
  CHECK_DONE(plait_system_add_short_range(system, &search));
  CHECK_DONE(plait_system_update(system));
  for (i = 0; i < plait_store_size(particles.store); ++i) {
    const double* position = (double*)plait_store_values(particles.store, PLAIT_POSITION) + 3 * i;
    const int32_t* neighbours = (int32_t*)plait_store_values(particles.store, particles.neighbours) + 2 * i;
    double exact = 0;
    int counts[2] = {0, 0};
    for (j = 0; j < COUNT; j += 2) {
      double r2 = 0;
      for (axis = 0; axis < 3; ++axis) {
        const double d = nearest(number_of(j, axis) - position[axis]);
        r2 += d * d;
      }
      if (sqrt(r2) < REACH) {
        exact += mass_of(j) * (1 - sqrt(r2) / REACH);
        counts[number_of(j, 6) < 0.5] += 1;
      }
    }
    CHECK(fabs(((double*)plait_store_values(particles.store, particles.density))[i] - exact) < 1e-6);
    CHECK(neighbours[0] == counts[0] && neighbours[1] == counts[1]);
  }
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&particles.store));
}

/* ---- steps ---- */

static int drift(plait_store* store, size_t first, size_t last, void* argument) {
  const gas* particles = argument;
  double (*position)[3] = plait_store_values(store, PLAIT_POSITION);
  double (*velocity)[3] = plait_store_values(store, particles->velocity);
  size_t i;
  int axis;
  for (i = first; i < last; ++i) {
    for (axis = 0; axis < 3; ++axis) {
      position[i][axis] += TIME_STEP * velocity[i][axis];
    }
  }
  return 0;
}

static int count_step(plait_store* store, void* argument) {
  (void)store;
  *(int*)argument += 1;
  return 0;
}

/* Every rank can compute the distance of two particles from their ids. */
static int are_neighbours(int64_t a, int64_t b) {
  double square = 0;
  int axis;
  for (axis = 0; axis < 3; ++axis) {
    const double d = number_of(a, axis) - number_of(b, axis);
    square += d * d;
  }
  return a != b && square <= (double)(float)REACH * (double)(float)REACH;
}

/* By one radius for all, or by the field of each particle's, which are equal. */
static void list_neighbours(plait_runtime* runtime, int has_field) {
  gas particles = make_gas(runtime);
  plait_system* system = NULL;
  const plait_neighbours* neighbours = NULL;
  plait_neighbour_lists lists;
  plait_neighbour_options options;
  const int64_t* ids;
  const int64_t* imported_ids;
  int type = 0;
  int components = 0;
  size_t i;
  size_t j;
  CHECK_DONE(plait_system_create(runtime, particles.store, NULL, &system));
  CHECK_DONE(plait_neighbour_options_init(&options, sizeof options));
  options.search = 7;
  CHECK(plait_system_add_neighbours(system, &options, &neighbours) == PLAIT_BAD_ARGUMENT);
  options.search = PLAIT_SYMMETRIC;
  options.radius = (double)(float)REACH;
  options.radius_field = has_field ? particles.reach : -1;
  options.travel_count = 1;
  options.travels = &particles.mass;
  CHECK_DONE(plait_system_add_neighbours(system, &options, &neighbours));
  CHECK_DONE(plait_store_describe_field(particles.store, particles.neighbours + 1, &type, &components));
  CHECK(type == PLAIT_FLOAT && components == 1);
  CHECK(plait_neighbours_get(neighbours, &lists) == PLAIT_BAD_ARGUMENT);
  CHECK_DONE(plait_system_update(system));
  CHECK_DONE(plait_neighbours_get(neighbours, &lists));
  CHECK(lists.count == plait_store_size(particles.store));
  CHECK((lists.imported_count > 0) == (plait_rank_count(runtime) > 1));
  CHECK(plait_neighbours_imported_values(neighbours, particles.velocity) == NULL);
  ids = plait_store_values(particles.store, PLAIT_ID);
  imported_ids = plait_neighbours_imported_values(neighbours, PLAIT_ID);
  for (i = 0; i < lists.count; ++i) {
    size_t expected = 0;
    for (j = 0; j < COUNT; ++j) {
      expected += (size_t)are_neighbours(ids[i], (int64_t)j);
    }
    CHECK(lists.offsets[i + 1] - lists.offsets[i] == expected);
    for (j = lists.offsets[i]; j < lists.offsets[i + 1]; ++j) {
      const size_t index = (size_t)lists.indices[j];
      const int is_own = index < lists.count;
      const int64_t id = is_own ? ids[index] : imported_ids[index - lists.count];
      const double mass =
          is_own ? ((const double*)plait_store_values(particles.store, particles.mass))[index]
                 : ((const double*)plait_neighbours_imported_values(neighbours, particles.mass))[index - lists.count];
      CHECK(are_neighbours(ids[i], id) && mass == mass_of(id));
    }
  }
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&particles.store));
}

/* Free flight: by functions of the program, and by the leapfrog without forces. */
static void fly(plait_runtime* runtime, int is_leapfrog) {
  gas particles = make_gas(runtime);
  plait_system* system = NULL;
  double low[3];
  double high[3];
  int steps = 0;
  size_t i;
  int axis;
  CHECK_DONE(plait_system_create(runtime, particles.store, NULL, &system));
  if (is_leapfrog) {
    CHECK_DONE(plait_system_add_leapfrog(system, particles.velocity, particles.acceleration, TIME_STEP));
  } else {
    CHECK_DONE(plait_system_before(system, "drift", drift, &particles));
  }
  CHECK_DONE(plait_system_when_summed(system, count_step, &steps));
  CHECK_DONE(plait_system_distribute(system));
  CHECK_DONE(plait_system_update(system));
  while (steps <= STEPS) {
    CHECK_DONE(plait_system_step(system));
  }
  CHECK_DONE(plait_system_domain(system, low, high));
  for (i = 0; i < plait_store_size(particles.store); ++i) {
    const double* position = (double*)plait_store_values(particles.store, PLAIT_POSITION) + 3 * i;
    const int64_t id = ((int64_t*)plait_store_values(particles.store, PLAIT_ID))[i];
    for (axis = 0; axis < 3; ++axis) {
      const double exact = number_of(id, axis) + STEPS * TIME_STEP * (number_of(id, 4 + axis) - 0.5);
      CHECK(fabs(position[axis] - exact) < 1e-12);
      CHECK(low[axis] < high[axis]);
    }
  }
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&particles.store));
}

static int fail(plait_store* store, size_t first, size_t last, void* argument) {
  (void)store;
  (void)first;
  (void)last;
  (void)argument;
  return plait_fail(PLAIT_USER_TASK, "the star has no fuel: add hydrogen");
}

/* An error on the first rank ends the step on all. */
static void end_with_an_error(plait_runtime* runtime) {
  gas particles = make_gas(runtime);
  plait_system* system = NULL;
  int error;
  CHECK_DONE(plait_system_create(runtime, particles.store, NULL, &system));
  CHECK_DONE(plait_system_before(system, "burn", plait_rank(runtime) == 0 ? fail : drift, &particles));
  error = plait_system_step(system);
  CHECK(error == (plait_rank(runtime) == 0 ? PLAIT_USER_TASK : PLAIT_PEER_FAILED));
  CHECK(strstr(plait_last_error(), "add hydrogen") != NULL);
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&particles.store));
}

int main(int argc, char** argv) {
  plait_runtime* runtime = begin(&argc, &argv);
  gas particles;
  remove_some();
  particles = make_gas(runtime);
  refuse_wrong_fields(&particles);
  CHECK_DONE(plait_store_free(&particles.store));
  sum_gravity(runtime, PLAIT_FULL, gravity, 1e-11);
  sum_gravity(runtime, PLAIT_FULL, NULL, 1e-9);
  sum_gravity(runtime, PLAIT_MIXED, gravity, 1e-4);
  sum_charges(runtime);
  sum_short_range(runtime);
  list_neighbours(runtime, 0);
  list_neighbours(runtime, 1);
  fly(runtime, 0);
  fly(runtime, 1);
  end_with_an_error(runtime);
  return end(runtime);
}
