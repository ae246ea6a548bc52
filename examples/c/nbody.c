/* SPDX-License-Identifier: Apache-2.0 */
/* ranks: 2 */
/* expected: 15_nbody.expected */
/* needs: plait::c-particles */
/* Gravity among the particles of a cold sphere, which begins to collapse: a tree code, with a kernel in C. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plait/plait_particles.h"

#define DONE(call)                               \
  if ((call) != PLAIT_SUCCESS) {                 \
    fprintf(stderr, "%s\n", plait_last_error()); \
    MPI_Abort(MPI_COMM_WORLD, 1);                \
  }

enum { COUNT = 1024, STEPS = 256 };
static const double SOFTENING = 1.0 / 32;

typedef struct stars {
  plait_store* store;
  int mass, velocity, acceleration, potential;
} stars;

static void pull(const plait_tree_block* block, const plait_cells* from) {
  const float softening2 = (float)block->softening2;
  for (size_t i = 0; i < block->count; ++i) {
    float ax = 0, ay = 0, az = 0, p = 0;
    for (size_t j = 0; j < from->count; ++j) {
      const float dx = from->x[j] - block->near_x[i];
      const float dy = from->y[j] - block->near_y[i];
      const float dz = from->z[j] - block->near_z[i];
      const float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + softening2);
      const float mr3 = from->charge[j] * r * r * r;
      ax += mr3 * dx;
      ay += mr3 * dy;
      az += mr3 * dz;
      p -= from->charge[j] * r;
    }
    block->sums[i][0] += ax;
    block->sums[i][1] += ay;
    block->sums[i][2] += az;
    block->sums[i][3] += p;
  }
}

/* Any worker calls it, with some targets, and the bodies and cells of the tree that act on them. */
static int gravity(const plait_tree_block* block, void* argument) {
  (void)argument;
  pull(block, &block->near_bodies);
  pull(block, &block->cells);
  return PLAIT_SUCCESS;
}

/* Adds a homogeneous sphere of radius 3 and mass 1, at rest. */
static void add_sphere(const stars* all) {
  DONE(plait_store_add(all->store, COUNT, NULL));
  double (*position)[3] = plait_store_values(all->store, PLAIT_POSITION);
  int64_t* id = plait_store_values(all->store, PLAIT_ID);
  double* mass = plait_store_values(all->store, all->mass);
  uint32_t random = 1;
  for (int64_t i = 0; i < COUNT; ++i) {
    double r2;
    do {
      r2 = 0;
      for (int axis = 0; axis < 3; ++axis) {
        random = random * 1664525 + 1013904223;
        position[i][axis] = 6 * (random / 4294967296.0) - 3;
        r2 += position[i][axis] * position[i][axis];
      }
    } while (r2 >= 9);
    id[i] = i;
    mass[i] = 1.0 / COUNT;
  }
}

/* The energy, and the mean square of the distance from the origin, of all ranks' particles. The kernel has added the
 * potential of each particle at its own centre, which does not count. */
static void energy_and_size(plait_system* system, const stars* all, double sums[2]) {
  double (*position)[3] = plait_store_values(all->store, PLAIT_POSITION);
  double (*velocity)[3] = plait_store_values(all->store, all->velocity);
  const double* mass = plait_store_values(all->store, all->mass);
  const double* potential = plait_store_values(all->store, all->potential);
  sums[0] = sums[1] = 0;
  for (size_t i = 0; i < plait_store_size(all->store); ++i) {
    double v2 = 0;
    for (int axis = 0; axis < 3; ++axis) {
      v2 += velocity[i][axis] * velocity[i][axis];
      sums[1] += mass[i] * position[i][axis] * position[i][axis];
    }
    sums[0] += mass[i] * (v2 + potential[i] + mass[i] / SOFTENING) / 2;
  }
  DONE(plait_system_sum(system, 2, sums));
}

int main(int argc, char** argv) {
  int provided;
  plait_runtime* runtime;
  plait_system* system;
  plait_long_range_options options;
  stars all;
  double before[2], after[2];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  DONE(plait_runtime_create(MPI_COMM_WORLD, NULL, &runtime));
  DONE(plait_store_create(&all.store));
  DONE(plait_store_add_field(all.store, "mass", PLAIT_DOUBLE, 1, &all.mass));
  DONE(plait_store_add_field(all.store, "velocity", PLAIT_DOUBLE, 3, &all.velocity));
  DONE(plait_store_add_field(all.store, "acceleration", PLAIT_DOUBLE, 3, &all.acceleration));
  DONE(plait_store_add_field(all.store, "potential", PLAIT_DOUBLE, 1, &all.potential));
  if (plait_rank(runtime) == 0) {
    add_sphere(&all); /* the update sends particles to their ranks */
  }
  DONE(plait_system_create(runtime, all.store, NULL, &system));
  DONE(plait_long_range_options_init(&options, sizeof options));
  options.charge = all.mass;
  options.acceleration = all.acceleration;
  options.potential = all.potential;
  options.softening = SOFTENING;
  options.order = PLAIT_MONOPOLE;
  options.precision = PLAIT_MIXED;
  options.kernel = gravity;
  DONE(plait_system_add_long_range(system, &options));
  DONE(plait_system_add_leapfrog(system, all.velocity, all.acceleration, 1.0 / 128));
  DONE(plait_system_update(system));
  energy_and_size(system, &all, before);
  for (int step = 0; step < STEPS; ++step) {
    DONE(plait_system_step(system));
  }
  energy_and_size(system, &all, after);
  if (plait_rank(runtime) == 0) {
    printf("energy kept within 1e-4: %s\n", fabs(after[0] / before[0] - 1) < 1e-4 ? "yes" : "no");
    printf("radius: %.3f\n", sqrt(5 * after[1] / 3));
  }
  DONE(plait_system_free(&system));
  DONE(plait_store_free(&all.store));
  DONE(plait_runtime_free(&runtime));
  MPI_Finalize();
  return 0;
}
