/* SPDX-License-Identifier: Apache-2.0 */
/* ranks: 1 2 */
/* expected: 20_comets.expected */
/* needs: plait::c-particles */
/* Comets on eccentric orbits around a star. Each takes time steps of its own: short ones near the star only. It counts
 * them beside the steps of a run in which all comets take the shortest step of any. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plait/plait_particles.h"

#define DONE(call)                               \
  if ((call) != PLAIT_SUCCESS) {                 \
    fprintf(stderr, "%s\n", plait_last_error()); \
    MPI_Abort(MPI_COMM_WORLD, 1);                \
  }

enum { COMETS = 16 };
static const double COMET_MASS = 1e-12; /* that of the star is 1 */
static const double PI = 3.14159265358979323846;

typedef struct comets {
  plait_store* store;
  int mass, velocity, acceleration, potential;
} comets;

static double axis_of(int64_t id) {
  return 1 + 0.125 * (double)id;
}

/* The star has the id 0. A comet begins where it is farthest away from it. */
static void add_all(const comets* all) {
  DONE(plait_store_add(all->store, COMETS + 1, NULL));
  double (*position)[3] = plait_store_values(all->store, PLAIT_POSITION);
  double (*velocity)[3] = plait_store_values(all->store, all->velocity);
  int64_t* ids = plait_store_values(all->store, PLAIT_ID);
  double* mass = plait_store_values(all->store, all->mass);
  for (int64_t i = 0; i <= COMETS; ++i) {
    const double eccentricity = i % 2 == 0 ? 0.5 : 0.75;
    const double angle = 2 * PI * (double)i / COMETS;
    const double distance = i == 0 ? 0 : axis_of(i) * (1 + eccentricity);
    const double speed = i == 0 ? 0 : sqrt((1 - eccentricity) / distance);
    ids[i] = i;
    mass[i] = i == 0 ? 1 : COMET_MASS;
    position[i][0] = distance * cos(angle);
    position[i][1] = distance * sin(angle);
    velocity[i][0] = -speed * sin(angle);
    velocity[i][1] = speed * cos(angle);
  }
}

/* Any worker calls it, for particles whose steps end. */
static int limit(plait_store* store, size_t count, const int32_t* places, double* longest, void* argument) {
  const comets* all = argument;
  double (*acceleration)[3] = plait_store_values(store, all->acceleration);
  for (size_t k = 0; k < count; ++k) {
    const double* a = acceleration[places[k]];
    const double pull = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); /* 1 / r^2 */
    longest[k] = fmin(longest[k], 0.02 / pow(pull, 0.75));
  }
  return PLAIT_SUCCESS;
}

/* The largest relative error of the energy of a comet of this rank, -1 / (2 axis). */
static double energy_error(const comets* all) {
  double (*velocity)[3] = plait_store_values(all->store, all->velocity);
  const int64_t* ids = plait_store_values(all->store, PLAIT_ID);
  const double* potential = plait_store_values(all->store, all->potential);
  double error = 0;
  for (size_t i = 0; i < plait_store_size(all->store); ++i) {
    const double* v = velocity[i];
    const double energy = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / 2 + potential[i];
    error = fmax(error, ids[i] == 0 ? 0 : fabs(2 * axis_of(ids[i]) * energy + 1));
  }
  return error;
}

/* Returns the updates of particles; adds to the sum over ranks of the largest errors. */
static double run(plait_runtime* runtime, int lengths, double* error) {
  plait_system* system;
  plait_long_range_options gravity;
  plait_integrator leapfrog;
  plait_time_steps steps;
  plait_step_result step;
  comets all;
  double updates = 0;
  DONE(plait_store_create(&all.store));
  DONE(plait_store_add_field(all.store, "mass", PLAIT_DOUBLE, 1, &all.mass));
  DONE(plait_store_add_field(all.store, "velocity", PLAIT_DOUBLE, 3, &all.velocity));
  DONE(plait_store_add_field(all.store, "acceleration", PLAIT_DOUBLE, 3, &all.acceleration));
  DONE(plait_store_add_field(all.store, "potential", PLAIT_DOUBLE, 1, &all.potential));
  if (plait_rank(runtime) == 0) {
    add_all(&all);
  }
  DONE(plait_system_create(runtime, all.store, NULL, &system));
  DONE(plait_long_range_options_init(&gravity, sizeof gravity));
  gravity.charge = all.mass;
  gravity.acceleration = all.acceleration;
  gravity.potential = all.potential;
  gravity.theta = 0;
  gravity.velocity = all.velocity;
  DONE(plait_system_add_long_range(system, &gravity));
  DONE(plait_integrator_init(&leapfrog, sizeof leapfrog));
  leapfrog.velocity = all.velocity;
  leapfrog.acceleration = all.acceleration;
  DONE(plait_system_integrate(system, &leapfrog));
  DONE(plait_system_limit_steps_by(system, limit, &all));
  DONE(plait_time_steps_init(&steps, sizeof steps));
  steps.lengths = lengths;
  steps.end = 20;
  steps.step_max = 0.25;
  DONE(plait_system_take_steps(system, &steps));
  DONE(plait_system_update(system));
  while (!plait_system_is_over(system)) {
    DONE(plait_system_step(system));
    DONE(plait_system_last_step(system, &step));
    updates += lengths == PLAIT_INDIVIDUAL_STEPS ? (double)step.updated : COMETS + 1;
  }
  DONE(plait_system_synchronise(system));
  *error += energy_error(&all);
  DONE(plait_system_sum(system, 1, error));
  DONE(plait_system_free(&system));
  DONE(plait_store_free(&all.store));
  return updates;
}

int main(int argc, char** argv) {
  int provided;
  plait_runtime* runtime;
  double errors[2] = {0, 0};
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  DONE(plait_runtime_create(MPI_COMM_WORLD, NULL, &runtime));
  const double own = run(runtime, PLAIT_INDIVIDUAL_STEPS, &errors[0]);
  const double equal = run(runtime, PLAIT_EQUAL_STEPS, &errors[1]);
  if (plait_rank(runtime) == 0) {
    printf("energies kept within 1e-3: %s\n", fmax(errors[0], errors[1]) < 1e-3 ? "yes" : "no");
    printf("updates of equal steps for one of individual steps: %.1f\n", equal / own);
  }
  DONE(plait_runtime_free(&runtime));
  MPI_Finalize();
  return 0;
}
