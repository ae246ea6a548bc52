/* SPDX-License-Identifier: Apache-2.0 */
/* A collective that takes too long, as of an MPI with a bad choice of algorithms: a preload library for trials.
 *
 *   mpicc -shared -fPIC -o slow_collective.so slow_collective.c -ldl
 *
 * It is below the recorder: MPI_Bcast and MPI_Allreduce wait until all ranks have come, and then for so long:
 * PLANTED_SLOW="MPI_Bcast 65536 5000" (function, bytes, microseconds). Calls with other bytes are as always. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

static void be_slow(const char* function, int count, MPI_Datatype type, MPI_Comm comm) {
  const char* planted = getenv("PLANTED_SLOW");
  char name[32];
  int bytes = 0, microseconds = 0, size = 0;
  if (!planted || sscanf(planted, "%31s %d %d", name, &bytes, &microseconds) != 3) return;
  PMPI_Type_size(type, &size);
  if (strcmp(name, function) != 0 || count * size != bytes) return;
  PMPI_Barrier(comm);
  usleep((useconds_t)microseconds);
}

int PMPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static int (*real)(void*, int, MPI_Datatype, int, MPI_Comm);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "PMPI_Bcast");
  be_slow("MPI_Bcast", count, type, comm);
  return real(data, count, type, root, comm);
}

int PMPI_Allreduce(const void* give, void* get, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static int (*real)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "PMPI_Allreduce");
  be_slow("MPI_Allreduce", count, type, comm);
  return real(give, get, count, type, op, comm);
}

/* Without a recorder, programs call these. */

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Allreduce(const void* give, void* get, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return PMPI_Allreduce(give, get, count, type, op, comm);
}
