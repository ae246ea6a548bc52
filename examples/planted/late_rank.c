/* SPDX-License-Identifier: Apache-2.0 */
/* A rank that comes late, as one that has more to compute, or a core that it shares: a preload library for trials.
 *
 *   mpicc -shared -fPIC -O2 -o late_rank.so late_rank.c -ldl
 *
 * It is above the recorder, as a part of the program: the last rank sleeps before MPI_Bcast and MPI_Allreduce:
 * PLANTED_LATE="MPI_Allreduce 8 3000" (function, bytes, microseconds). The calls at the ends are jumps (-O2), so that
 * the recorder still sees where in the program they come from. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

static void be_late(const char* function, int count, MPI_Datatype type, MPI_Comm comm) {
  const char* planted = getenv("PLANTED_LATE");
  char name[32];
  int bytes = 0, microseconds = 0, type_bytes = 0, rank = 0, size = 0;
  if (!planted || sscanf(planted, "%31s %d %d", name, &bytes, &microseconds) != 3) return;
  PMPI_Type_size(type, &type_bytes);
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  if (strcmp(name, function) == 0 && count * type_bytes == bytes && rank == size - 1) usleep((useconds_t)microseconds);
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static int (*real)(void*, int, MPI_Datatype, int, MPI_Comm);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "MPI_Bcast");
  be_late("MPI_Bcast", count, type, comm);
  return real(data, count, type, root, comm);
}

int MPI_Allreduce(const void* give, void* get, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static int (*real)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "MPI_Allreduce");
  be_late("MPI_Allreduce", count, type, comm);
  return real(give, get, count, type, op, comm);
}
