/* SPDX-License-Identifier: Apache-2.0 */
/* A preload library that notes when rank 0 of a program of MPI is in calls that bound its sections. `plait bench
 * predict-programs` uses it to time sections without recording them.
 *
 * Notes up to 100,000 times: when MPI_Barrier, MPI_Comm_split and MPI_Reduce return, and when MPI_Comm_free begins. A
 * replay plays MPI_Comm_split as a barrier, so it is noted as one. MPI_Finalize writes them to the file of the
 * environment's BENCH_MARKS: a line for each, with its name and its seconds. Not for calls by several threads at once.
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { marks_max = 100000 };

struct mark {
  const char* name;
  double at_s;
};

static struct mark marks[marks_max];
static int count;

static void note(const char* name) {
  if (count < marks_max) {
    marks[count].name = name;
    marks[count].at_s = PMPI_Wtime();
    ++count;
  }
}

int MPI_Barrier(MPI_Comm communicator) {
  const int status = PMPI_Barrier(communicator);
  note("barrier");
  return status;
}

int MPI_Comm_split(MPI_Comm communicator, int color, int key, MPI_Comm* created) {
  const int status = PMPI_Comm_split(communicator, color, key, created);
  note("barrier");
  return status;
}

int MPI_Reduce(const void* given,
               void* result,
               int elements,
               MPI_Datatype type,
               MPI_Op operation,
               int root,
               MPI_Comm communicator) {
  const int status = PMPI_Reduce(given, result, elements, type, operation, root, communicator);
  note("reduce");
  return status;
}

int MPI_Comm_free(MPI_Comm* communicator) {
  note("free");
  return PMPI_Comm_free(communicator);
}

int MPI_Finalize(void) {
  const char* name = getenv("BENCH_MARKS");
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* file = rank == 0 && name != NULL ? fopen(name, "w") : NULL;
  if (file != NULL) {
    if (count == marks_max) {
      fprintf(file, "incomplete 1\n"); /* the reader refuses it */
    }
    for (int i = 0; i < count; ++i) {
      fprintf(file, "%s %.9f\n", marks[i].name, marks[i].at_s);
    }
    fclose(file);
  }
  return PMPI_Finalize();
}
