/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the programs of this folder share: facts that must hold, and numbers that every rank can compute. */
#include <stdint.h>
#include <stdio.h>

#include "plait/plait_particles.h"

static int failures = 0;

static void check(int is_right, const char* what, const char* file, int line) {
  if (!is_right) {
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, plait_last_error());
    ++failures;
  }
}

/* A number in [0, 1) for each id and purpose. */
static double number_of(int64_t id, int purpose) {
  uint64_t x = (uint64_t)id * 8 + (uint64_t)purpose + 1;
  x *= 0x9E3779B97F4A7C15U;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 32;
  return (double)(x >> 11) / 9007199254740992.0;
}

/* A runtime with two workers on all ranks. */
static plait_runtime* begin(int* argc, char*** argv) {
  plait_runtime* runtime = NULL;
  plait_options options;
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
  check(plait_options_init(&options, sizeof options) == PLAIT_SUCCESS, "options have defaults", __FILE__, __LINE__);
  options.workers = 2;
  if (plait_runtime_create(MPI_COMM_WORLD, &options, &runtime) != PLAIT_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return runtime;
}

/* Returns the status of the program. */
static int end(plait_runtime* runtime) {
  (void)plait_runtime_free(&runtime);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
