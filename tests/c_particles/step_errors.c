/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of steps that particles choose: of wrong arguments, and of functions that fail on one rank. They end the step
 * on all ranks with one sentence. It prints nothing when all is right. */
#include <math.h>
#include <string.h>

#include "c_particles/check.h"

#define CHECK(fact) check((fact), #fact, __FILE__, __LINE__)
#define CHECK_DONE(call) check((call) == PLAIT_SUCCESS, #call, __FILE__, __LINE__)
#define CHECK_REFUSED(call, sentence) \
  check((call) == PLAIT_BAD_ARGUMENT && strstr(plait_last_error(), (sentence)) != NULL, #call, __FILE__, __LINE__)

enum { COUNT = 600 };
static const double SHORT_STEP = 0.0625; /* Of the particle 0. */
static const double LONG_STEP = 0.5;

/* The functions that can fail. */
typedef enum part { NONE, CRITERION, STAGE, DRIFT, KICK, SETTLE } part;

typedef struct swarm {
  plait_store* store;
  plait_system* system;
  int velocity, acceleration, reach;
  part failing; /* On this rank. */
} swarm;

static int add_numbers(plait_store* store, const char* name, int type, int components) {
  int field = -1;
  CHECK_DONE(plait_store_add_field(store, name, type, components, &field));
  return field;
}

static void make_swarm(plait_runtime* runtime, swarm* made) {
  int64_t id;
  made->store = NULL;
  made->system = NULL;
  made->failing = NONE;
  CHECK_DONE(plait_store_create(&made->store));
  made->velocity = add_numbers(made->store, "velocity", PLAIT_DOUBLE, 3);
  made->acceleration = add_numbers(made->store, "acceleration", PLAIT_DOUBLE, 3);
  made->reach = add_numbers(made->store, "reach", PLAIT_FLOAT, 1);
  for (id = plait_rank(runtime); id < COUNT; id += plait_rank_count(runtime)) {
    size_t at = 0;
    int axis;
    CHECK_DONE(plait_store_add(made->store, 1, &at));
    ((int64_t*)plait_store_values(made->store, PLAIT_ID))[at] = id;
    for (axis = 0; axis < 3; ++axis) {
      ((double*)plait_store_values(made->store, PLAIT_POSITION))[3 * at + (size_t)axis] = number_of(id, axis);
    }
  }
  CHECK_DONE(plait_system_create(runtime, made->store, NULL, &made->system));
}

static void free_swarm(swarm* given) {
  CHECK_DONE(plait_system_free(&given->system));
  CHECK_DONE(plait_store_free(&given->store));
}

/* ---- the parts of steps ---- */

static int fail_in(const swarm* given, part which) {
  return given->failing == which ? plait_fail(PLAIT_USER_TASK, "the star has no fuel: add hydrogen") : PLAIT_SUCCESS;
}

static int limit(plait_store* store, size_t count, const int32_t* places, double* longest, void* argument) {
  const int64_t* ids = plait_store_values(store, PLAIT_ID);
  size_t k;
  for (k = 0; k < count; ++k) {
    longest[k] = fmin(longest[k], ids[places[k]] == 0 ? SHORT_STEP : LONG_STEP);
  }
  return fail_in(argument, CRITERION);
}

static int stage(plait_store* store, size_t count, const int32_t* places, void* argument) {
  (void)store;
  (void)count;
  (void)places;
  return fail_in(argument, STAGE);
}

static int drift(plait_store* store, size_t first, size_t last, double duration, void* argument) {
  (void)store;
  (void)first;
  (void)last;
  (void)duration;
  return fail_in(argument, DRIFT);
}

static int kick(plait_store* store, size_t count, const plait_kick* kicks, void* argument) {
  (void)store;
  (void)count;
  (void)kicks;
  return fail_in(argument, KICK);
}

static int settle(plait_store* store, size_t count, const plait_kick* kicks, void* argument) {
  (void)store;
  (void)count;
  (void)kicks;
  return fail_in(argument, SETTLE);
}

static int use_pairs(const plait_pair_block* block, void* argument) {
  (void)block;
  (void)argument;
  return PLAIT_SUCCESS;
}

static plait_integrator own_integrator(swarm* given) {
  plait_integrator integrator;
  CHECK_DONE(plait_integrator_init(&integrator, sizeof integrator));
  integrator.velocity = given->velocity;
  integrator.drift = drift;
  integrator.kick = kick;
  integrator.settle = settle;
  integrator.argument = given;
  return integrator;
}

static plait_stage_options own_stage(swarm* given) {
  plait_stage_options options;
  CHECK_DONE(plait_stage_options_init(&options, sizeof options));
  options.name = "burn";
  options.function = stage;
  options.argument = given;
  return options;
}

static void take_steps(plait_system* system, int lengths, double step_min) {
  plait_time_steps steps;
  CHECK_DONE(plait_time_steps_init(&steps, sizeof steps));
  steps.lengths = lengths;
  steps.step_min = step_min;
  CHECK_DONE(plait_system_take_steps(system, &steps));
}

/* ---- arguments ---- */

static void refuse_sizes(const swarm* given) {
  struct {
    plait_time_steps known;
    double later;
  } longer;
  plait_integrator integrator;
  plait_time_steps steps;
  plait_stage_options options;
  CHECK_REFUSED(plait_integrator_init(NULL, sizeof integrator), "no valid size");
  CHECK_REFUSED(plait_integrator_init(&integrator, sizeof integrator - 1), "no valid size");
  CHECK_REFUSED(plait_time_steps_init(&steps, 0), "no valid size");
  CHECK_REFUSED(plait_stage_options_init(&options, sizeof options / 2), "no valid size");
  memset(&integrator, 0, sizeof integrator);
  memset(&steps, 0, sizeof steps);
  memset(&options, 0, sizeof options);
  CHECK_REFUSED(plait_system_integrate(given->system, &integrator), "call their ..._init function");
  CHECK_REFUSED(plait_system_take_steps(given->system, &steps), "call their ..._init function");
  CHECK_REFUSED(plait_system_add_stage(given->system, &options), "call their ..._init function");
  longer.later = 7;
  CHECK_DONE(plait_time_steps_init(&longer.known, sizeof longer)); /* of a later version */
  CHECK(longer.known.size == sizeof longer && longer.later == 0 && longer.known.end == 1);
  longer.known.lengths = PLAIT_FIXED_STEPS;
  CHECK_DONE(plait_system_take_steps(given->system, &longer.known));
}

static void refuse_nulls(swarm* given) {
  plait_stage_options options = own_stage(given);
  plait_short_range_options search;
  CHECK_REFUSED(plait_system_integrate(given->system, NULL), "options");
  CHECK_REFUSED(plait_system_take_steps(given->system, NULL), "options");
  CHECK_REFUSED(plait_system_add_stage(given->system, NULL), "options");
  CHECK_REFUSED(plait_system_add_pair_stage(given->system, "pairs", NULL), "options");
  CHECK_REFUSED(plait_system_limit_steps_by(given->system, NULL, NULL), "give a function");
  CHECK_REFUSED(plait_system_last_step(given->system, NULL), "give its address");
  options.name = NULL;
  CHECK_REFUSED(plait_system_add_stage(given->system, &options), "has no name");
  options = own_stage(given);
  options.function = NULL;
  CHECK_REFUSED(plait_system_add_stage(given->system, &options), "function is NULL");
  options = own_stage(given);
  options.write_count = 1;
  CHECK_REFUSED(plait_system_add_stage(given->system, &options), "writes");
  CHECK_DONE(plait_short_range_options_init(&search, sizeof search));
  search.reach = given->reach;
  CHECK_REFUSED(plait_system_add_pair_stage(given->system, "pairs", &search), "no kernel");
  search.kernel = use_pairs;
  CHECK_REFUSED(plait_system_add_pair_stage(given->system, NULL, &search), "no name");
  CHECK_REFUSED(plait_system_add_pair_stage(given->system, "", &search), "no name");
}

static void refuse_integrators(swarm* given) {
  plait_integrator integrator = own_integrator(given);
  const int wrong = 99;
  integrator.drift = NULL;
  CHECK_REFUSED(plait_system_integrate(given->system, &integrator), "one of drift and kick");
  integrator.kick = NULL;
  CHECK_REFUSED(plait_system_integrate(given->system, &integrator), "without drift and kick");
  integrator.settle = NULL;
  CHECK_REFUSED(plait_system_integrate(given->system, &integrator), "no field -1"); /* of accelerations */
  integrator = own_integrator(given);
  integrator.velocity = given->reach;
  CHECK_REFUSED(plait_system_integrate(given->system, &integrator), "velocity");
  integrator = own_integrator(given);
  integrator.predicted_count = 1;
  CHECK_REFUSED(plait_system_integrate(given->system, &integrator), "predicted fields");
  integrator = own_integrator(given);
  integrator.forces = &wrong;
  integrator.force_count = 1;
  CHECK_REFUSED(plait_system_integrate(given->system, &integrator), "no field 99");
  integrator = own_integrator(given);
  CHECK_DONE(plait_system_integrate(given->system, &integrator));
  CHECK_REFUSED(plait_system_integrate(given->system, &integrator), "one integrator");
}

static void refuse_arguments(plait_runtime* runtime) {
  swarm given;
  plait_system_options options;
  plait_system* other = NULL;
  plait_time_steps steps;
  make_swarm(runtime, &given);
  refuse_sizes(&given);
  refuse_nulls(&given);
  refuse_integrators(&given);
  CHECK_DONE(plait_time_steps_init(&steps, sizeof steps));
  steps.lengths = 3;
  CHECK_REFUSED(plait_system_take_steps(given.system, &steps), "plait_step_lengths");
  CHECK_DONE(plait_system_options_init(&options, sizeof options));
  options.cell_reach = given.velocity;
  CHECK_REFUSED(plait_system_create(runtime, given.store, &options, &other), "cell_reach");
  CHECK(other == NULL);
  free_swarm(&given);
}

/* ---- the first step ---- */

static void refuse_steps_before_integrate(plait_runtime* runtime, int lengths) {
  swarm given;
  make_swarm(runtime, &given);
  take_steps(given.system, lengths, 0);
  CHECK_REFUSED(plait_system_update(given.system), "integrat");
  CHECK_REFUSED(plait_system_step(given.system), "integrat");
  CHECK_REFUSED(plait_system_run_until(given.system, 1), "integrat");
  CHECK_DONE(plait_system_synchronise(given.system)); /* of steps that have not begun */
  CHECK(plait_system_time(given.system) == 0);
  free_swarm(&given);
}

static void refuse_steps_that_do_not_advance(plait_runtime* runtime) {
  swarm given;
  plait_integrator integrator;
  make_swarm(runtime, &given);
  integrator = own_integrator(&given);
  CHECK_DONE(plait_system_integrate(given.system, &integrator));
  take_steps(given.system, PLAIT_FIXED_STEPS, 0);
  CHECK_REFUSED(plait_system_run_until(given.system, 1), "do not advance");
  free_swarm(&given);
}

/* ---- errors on one rank ---- */

/* Runtimes of runs that have failed. They are freed at the end: notices of a failed run may still be on their way, and
 * MPI may give the communicator of a freed runtime to the next one. */
enum { RUNTIMES_MAX = 16 };
static plait_runtime* runtimes[RUNTIMES_MAX];
static int runtime_count = 0;

static plait_runtime* another_runtime(void) {
  plait_runtime** const runtime = &runtimes[runtime_count++];
  plait_options options;
  CHECK_DONE(plait_options_init(&options, sizeof options));
  options.workers = 2;
  if (plait_runtime_create(MPI_COMM_WORLD, &options, runtime) != PLAIT_SUCCESS) {
    fprintf(stderr, "%s\n", plait_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return *runtime;
}

static void free_runtimes(void) {
  while (runtime_count > 0) {
    (void)plait_runtime_free(&runtimes[--runtime_count]);
  }
}

static void add_parts(swarm* given, int lengths, int has_stage, double step_min) {
  plait_integrator integrator = own_integrator(given);
  const plait_stage_options options = own_stage(given);
  CHECK_DONE(plait_system_integrate(given->system, &integrator));
  CHECK_DONE(plait_system_limit_steps_by(given->system, limit, given));
  if (has_stage) {
    CHECK_DONE(plait_system_add_stage(given->system, &options));
  }
  take_steps(given->system, lengths, step_min);
}

/* Returns the first error of a run. */
static int run(const swarm* given) {
  int error = plait_system_update(given->system);
  while (error == PLAIT_SUCCESS && !plait_system_is_over(given->system)) {
    error = plait_system_step(given->system);
    if (error == PLAIT_SUCCESS) {
      error = plait_system_synchronise(given->system);
    }
  }
  return error;
}

/* A function fails on the rank 0 from the start. */
static void fail_on_one_rank(part which, int lengths, int has_stage) {
  plait_runtime* runtime = another_runtime();
  swarm given;
  int error;
  make_swarm(runtime, &given);
  add_parts(&given, lengths, has_stage, 0);
  given.failing = plait_rank(runtime) == 0 ? which : NONE;
  error = run(&given);
  CHECK(error == (plait_rank(runtime) == 0 ? PLAIT_USER_TASK : PLAIT_PEER_FAILED));
  CHECK(strstr(plait_last_error(), "the star has no fuel: add hydrogen") != NULL);
  free_swarm(&given);
}

/* The particle 0 needs a shorter step than is allowed. */
static void need_too_short_a_step(int lengths) {
  plait_runtime* runtime = another_runtime();
  swarm given;
  int error;
  make_swarm(runtime, &given);
  add_parts(&given, lengths, 0, 2 * SHORT_STEP);
  error = run(&given);
  CHECK(error == PLAIT_BAD_INPUT || (error == PLAIT_PEER_FAILED && plait_rank_count(runtime) > 1));
  CHECK(strstr(plait_last_error(), "needs a time step of 0.0625, which is shorter than 0.125") != NULL);
  free_swarm(&given);
}

int main(int argc, char** argv) {
  plait_runtime* runtime = begin(&argc, &argv);
  refuse_arguments(runtime);
  refuse_steps_before_integrate(runtime, PLAIT_INDIVIDUAL_STEPS);
  refuse_steps_before_integrate(runtime, PLAIT_EQUAL_STEPS);
  refuse_steps_that_do_not_advance(runtime);
  fail_on_one_rank(CRITERION, PLAIT_INDIVIDUAL_STEPS, 0);
  fail_on_one_rank(CRITERION, PLAIT_EQUAL_STEPS, 0);
  fail_on_one_rank(CRITERION, PLAIT_EQUAL_STEPS, 1);
  fail_on_one_rank(STAGE, PLAIT_INDIVIDUAL_STEPS, 1);
  fail_on_one_rank(KICK, PLAIT_INDIVIDUAL_STEPS, 0);
  fail_on_one_rank(DRIFT, PLAIT_EQUAL_STEPS, 0);
  fail_on_one_rank(DRIFT, PLAIT_INDIVIDUAL_STEPS, 0);
  fail_on_one_rank(SETTLE, PLAIT_INDIVIDUAL_STEPS, 0);
  need_too_short_a_step(PLAIT_INDIVIDUAL_STEPS);
  need_too_short_a_step(PLAIT_EQUAL_STEPS);
  free_runtimes();
  return end(runtime);
}
