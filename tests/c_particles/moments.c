/* SPDX-License-Identifier: Apache-2.0 */
/* A Yukawa force with moments of the program's own, on any number of ranks, beside direct sums. It prints nothing when
 * all is right. */
#include <math.h>
#include <string.h>

#include "c_particles/check.h"

#define CHECK(fact) check((fact), #fact, __FILE__, __LINE__)
#define CHECK_DONE(call) check((call) == PLAIT_SUCCESS, #call, __FILE__, __LINE__)

enum { COUNT = 600 };
static const double INVERSE_RANGE = 2;

/* The second moments of a cell about the centre of its charges, where its dipole is 0. */
typedef struct moment {
  double charge;
  double xx, xy, xz, yy, yz, zz;
} moment;

typedef struct fields {
  int charge, acceleration, potential;
  double weight; /* Of all charges in moments: 1. */
} fields;

static double charge_of(int64_t id) {
  return (1 + number_of(id, 3)) / COUNT;
}

static void add_point(moment* to, double charge, const double d[3]) {
  to->charge += charge;
  to->xx += charge * d[0] * d[0];
  to->xy += charge * d[0] * d[1];
  to->xz += charge * d[0] * d[2];
  to->yy += charge * d[1] * d[1];
  to->yz += charge * d[1] * d[2];
  to->zz += charge * d[2] * d[2];
}

static int add_body(void* to, plait_store* store, size_t place, const double offset[3], void* argument) {
  const fields* given = argument;
  const double* charges = plait_store_values(store, given->charge);
  add_point(to, given->weight * charges[place], offset);
  return 0;
}

static int add_child(void* to, const void* of_child, const double offset[3], void* argument) {
  moment* sum = to;
  const moment* child = of_child;
  (void)argument;
  add_point(sum, child->charge, offset);
  sum->xx += child->xx;
  sum->xy += child->xy;
  sum->xz += child->xz;
  sum->yy += child->yy;
  sum->yz += child->yz;
  sum->zz += child->zz;
  return 0;
}

/* g = exp(-k r) / r, and a = g' / r, b = a' / r, c = b' / r. */
typedef struct law {
  double g, a, b, c;
} law;

static law yukawa(double r) {
  const double x = INVERSE_RANGE * r;
  const double e = exp(-x);
  const double r3 = r * r * r;
  law at;
  at.g = e / r;
  at.a = -e * (x + 1) / r3;
  at.b = e * (x * x + 3 * x + 3) / (r3 * r * r);
  at.c = -e * (x * x * x + 6 * x * x + 15 * x + 15) / (r3 * r3 * r);
  return at;
}

static void add_body_force(double sum[4], double charge, const double d[3]) {
  const double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  int axis;
  law at;
  if (charge == 0 || r == 0) {
    return;
  }
  at = yukawa(r);
  for (axis = 0; axis < 3; ++axis) {
    sum[axis] -= charge * at.a * d[axis];
  }
  sum[3] -= charge * at.g;
}

static void add_cell_force(double sum[4], const moment* cell, const double d[3]) {
  const law at = yukawa(sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
  const double sd[3] = {cell->xx * d[0] + cell->xy * d[1] + cell->xz * d[2],
                        cell->xy * d[0] + cell->yy * d[1] + cell->yz * d[2],
                        cell->xz * d[0] + cell->yz * d[1] + cell->zz * d[2]};
  const double dsd = d[0] * sd[0] + d[1] * sd[1] + d[2] * sd[2];
  const double trace = cell->xx + cell->yy + cell->zz;
  int axis;
  add_body_force(sum, cell->charge, d);
  for (axis = 0; axis < 3; ++axis) {
    sum[axis] -= (at.b * trace + at.c * dsd) / 2 * d[axis] + at.b * sd[axis];
  }
  sum[3] -= (at.a * trace + at.b * dsd) / 2;
}

static int force(const plait_tree_block* block, void* argument) {
  const moment* cells = block->moments;
  size_t i;
  size_t j;
  (void)argument;
  for (i = 0; i < block->count; ++i) {
    for (j = 0; j < block->bodies.count; ++j) {
      const double d[3] = {
          block->bodies.x[j] - block->x[i], block->bodies.y[j] - block->y[i], block->bodies.z[j] - block->z[i]};
      add_body_force(block->sums[i], block->bodies.charge[j], d);
    }
    for (j = 0; j < block->moment_count; ++j) {
      const double d[3] = {(double)(block->cells.x[j] - block->near_x[i]),
                           (double)(block->cells.y[j] - block->near_y[i]),
                           (double)(block->cells.z[j] - block->near_z[i])};
      add_cell_force(block->sums[i], &cells[j], d);
    }
  }
  return 0;
}

static void set_options(plait_long_range_options* options, fields* given) {
  static const moment none = {0, 0, 0, 0, 0, 0, 0};
  CHECK_DONE(plait_long_range_options_init(options, sizeof *options));
  options->charge = given->charge;
  options->acceleration = given->acceleration;
  options->potential = given->potential;
  options->kernel = force;
  options->moment_bytes = sizeof(moment);
  options->moment_of_none = &none;
  options->add_body = add_body;
  options->add_child = add_child;
  options->moment_argument = given;
}

static plait_store* make_store(plait_runtime* runtime, fields* given) {
  plait_store* store = NULL;
  int64_t i;
  int axis;
  given->weight = 1;
  CHECK_DONE(plait_store_create(&store));
  CHECK_DONE(plait_store_add_field(store, "charge", PLAIT_DOUBLE, 1, &given->charge));
  CHECK_DONE(plait_store_add_field(store, "acceleration", PLAIT_DOUBLE, 3, &given->acceleration));
  CHECK_DONE(plait_store_add_field(store, "potential", PLAIT_DOUBLE, 1, &given->potential));
  for (i = plait_rank(runtime); i < COUNT; i += plait_rank_count(runtime)) {
    size_t at = 0;
    CHECK_DONE(plait_store_add(store, 1, &at));
    ((int64_t*)plait_store_values(store, PLAIT_ID))[at] = i;
    ((double*)plait_store_values(store, given->charge))[at] = charge_of(i);
    for (axis = 0; axis < 3; ++axis) {
      ((double*)plait_store_values(store, PLAIT_POSITION))[3 * at + (size_t)axis] = number_of(i, axis);
    }
  }
  return store;
}

/* The root mean square error of accelerations on all ranks, over that of the accelerations. */
static double error_of(plait_runtime* runtime, double theta, int lets, double weight) {
  fields given;
  plait_store* store = make_store(runtime, &given);
  plait_system* system = NULL;
  plait_long_range_options options;
  double sums[2] = {0, 0};
  size_t i;
  int64_t j;
  int axis;
  given.weight = weight;
  CHECK_DONE(plait_system_create(runtime, store, NULL, &system));
  set_options(&options, &given);
  options.theta = theta;
  options.lets = lets;
  CHECK_DONE(plait_system_add_long_range(system, &options));
  CHECK_DONE(plait_system_update(system));
  for (i = 0; i < plait_store_size(store); ++i) {
    const int64_t id = ((int64_t*)plait_store_values(store, PLAIT_ID))[i];
    const double* found = (double*)plait_store_values(store, given.acceleration) + 3 * i;
    double exact[4] = {0, 0, 0, 0};
    for (j = 0; j < COUNT; ++j) {
      const double d[3] = {
          number_of(j, 0) - number_of(id, 0), number_of(j, 1) - number_of(id, 1), number_of(j, 2) - number_of(id, 2)};
      add_body_force(exact, charge_of(j), d);
    }
    for (axis = 0; axis < 3; ++axis) {
      sums[0] += (found[axis] - exact[axis]) * (found[axis] - exact[axis]);
      sums[1] += exact[axis] * exact[axis];
    }
    CHECK(weight != 1 || fabs(((double*)plait_store_values(store, given.potential))[i] - exact[3]) < 1e-2);
  }
  CHECK_DONE(plait_system_sum(system, 2, sums));
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&store));
  return sqrt(sums[0] / sums[1]);
}

static int fail_to_add(void* to, plait_store* store, size_t place, const double offset[3], void* argument) {
  (void)to;
  (void)store;
  (void)place;
  (void)offset;
  (void)argument;
  return plait_fail(PLAIT_USER_TASK, "a charge is unknown: give it");
}

static void refuse(plait_runtime* runtime) {
  fields given;
  plait_store* store = make_store(runtime, &given);
  plait_system* system = NULL;
  plait_long_range_options options;
  CHECK_DONE(plait_system_create(runtime, store, NULL, &system));
  set_options(&options, &given);
  options.moment_bytes = 12;
  CHECK(plait_system_add_long_range(system, &options) == PLAIT_BAD_ARGUMENT);
  CHECK(strstr(plait_last_error(), "no multiple of 8") != NULL);
  set_options(&options, &given);
  options.add_child = NULL;
  CHECK(plait_system_add_long_range(system, &options) == PLAIT_BAD_ARGUMENT);
  set_options(&options, &given);
  options.kernel = NULL;
  CHECK(plait_system_add_long_range(system, &options) == PLAIT_BAD_ARGUMENT);
  CHECK(strstr(plait_last_error(), "give all three") != NULL);
  set_options(&options, &given);
  options.add_body = fail_to_add;
  CHECK_DONE(plait_system_add_long_range(system, &options));
  CHECK(plait_system_update(system) != PLAIT_SUCCESS);
  CHECK(strstr(plait_last_error(), "a charge is unknown") != NULL);
  CHECK_DONE(plait_system_free(&system));
  CHECK_DONE(plait_store_free(&store));
}

int main(int argc, char** argv) {
  plait_runtime* runtime = begin(&argc, &argv);
  int lets;
  for (lets = PLAIT_LETS_ALL_TO_ALL; lets <= PLAIT_LETS_FAST; ++lets) {
    CHECK(error_of(runtime, 0, lets, 1) < 1e-12);
    CHECK(error_of(runtime, 0.4, lets, 1) < 1e-3);
  }
  CHECK(error_of(runtime, 0.4, PLAIT_LETS_EXACT, 0.5) > 1e-2); /* moments act */
  refuse(runtime);
  return end(runtime);
}
