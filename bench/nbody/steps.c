/* SPDX-License-Identifier: Apache-2.0 */
#include "nbody/steps.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "plait/plait_particles.h"

typedef struct program {
  plait_runtime* runtime;
  plait_store* store;
  plait_system* system;
  int mass, velocity, acceleration, potential;
} program;

static void pull(const plait_tree_block* block, const plait_cells* from) {
  const float softening2 = (float)block->softening2;
  for (size_t i = 0; i < block->count; ++i) {
    const float x = block->near_x[i], y = block->near_y[i], z = block->near_z[i];
    float ax = 0, ay = 0, az = 0, p = 0;
    for (size_t j = 0; j < from->count; ++j) {
      const float dx = from->x[j] - x;
      const float dy = from->y[j] - y;
      const float dz = from->z[j] - z;
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

static int gravity(const plait_tree_block* block, void* argument) {
  (void)argument;
  pull(block, &block->near_bodies);
  pull(block, &block->cells);
  return PLAIT_SUCCESS;
}

static int add_sphere(const program* its, int count) {
  const int error = plait_store_add(its->store, (size_t)count, NULL);
  double (*position)[3] = plait_store_values(its->store, PLAIT_POSITION);
  int64_t* id = plait_store_values(its->store, PLAIT_ID);
  double* mass = plait_store_values(its->store, its->mass);
  uint32_t random = 1;
  for (int i = 0; error == PLAIT_SUCCESS && i < count; ++i) {
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
    mass[i] = 1.0 / count;
  }
  return error;
}

static int create(program* its, MPI_Comm communicator, int count) {
  plait_options settings;
  plait_long_range_options options;
  int error = plait_options_init(&settings, sizeof settings);
  settings.trace_folder = "";
  error = error ? error : plait_runtime_create(communicator, &settings, &its->runtime);
  error = error ? error : plait_store_create(&its->store);
  error = error ? error : plait_store_add_field(its->store, "mass", PLAIT_DOUBLE, 1, &its->mass);
  error = error ? error : plait_store_add_field(its->store, "velocity", PLAIT_DOUBLE, 3, &its->velocity);
  error = error ? error : plait_store_add_field(its->store, "acceleration", PLAIT_DOUBLE, 3, &its->acceleration);
  error = error ? error : plait_store_add_field(its->store, "potential", PLAIT_DOUBLE, 1, &its->potential);
  if (!error && plait_rank(its->runtime) == 0) {
    error = add_sphere(its, count);
  }
  error = error ? error : plait_system_create(its->runtime, its->store, NULL, &its->system);
  error = error ? error : plait_long_range_options_init(&options, sizeof options);
  options.charge = its->mass;
  options.acceleration = its->acceleration;
  options.potential = its->potential;
  options.softening = 1.0 / 32;
  options.order = PLAIT_MONOPOLE;
  options.precision = PLAIT_MIXED;
  options.kernel = gravity;
  error = error ? error : plait_system_add_long_range(its->system, &options);
  error = error ? error : plait_system_add_leapfrog(its->system, its->velocity, its->acceleration, 1.0 / 128);
  return error ? error : plait_system_update(its->system);
}

double nbody_c_seconds(MPI_Comm communicator, int count, int steps) {
  program its = {NULL, NULL, NULL, 0, 0, 0, 0};
  double start;
  double seconds;
  int error = create(&its, communicator, count);
  MPI_Barrier(communicator);
  start = MPI_Wtime();
  for (int step = 0; !error && step < steps; ++step) {
    error = plait_system_step(its.system);
  }
  MPI_Barrier(communicator);
  seconds = (MPI_Wtime() - start) / steps;
  if (error) {
    fprintf(stderr, "%s\n", plait_last_error());
  }
  (void)plait_system_free(&its.system);
  (void)plait_store_free(&its.store);
  (void)plait_runtime_free(&its.runtime);
  return error ? -1 : seconds;
}
