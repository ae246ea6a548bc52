/* SPDX-License-Identifier: Apache-2.0 */
/* Heat in a plate of which each rank has some rows: a usual solver with MPI, for
 * docs/tutorials/why-is-my-mpi-code-slow.md.
 *
 * In each step rank 0 distributes the heating, halo rows are exchanged while the inner rows are computed, and the ranks
 * agree on the largest change. Usage: heat STEPS. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { columns = 1 << 21, rows = 4, heated = 8192 };

typedef struct {
  double* now; /* rows + 2 rows: the first and the last are those of the neighbours */
  double* next;
  double heating[heated];
  int rank, size;
} Plate;

static double update_row(const Plate* plate, int row) {
  const double* above = plate->now + (size_t)(row - 1) * columns;
  const double* here = above + columns;
  const double* below = here + columns;
  double* out = plate->next + (size_t)row * columns;
  double change = 0;
  for (int i = 1; i < columns - 1; i++) {
    out[i] = here[i] + 0.2 * (above[i] + below[i] + here[i - 1] + here[i + 1] - 4 * here[i]);
    change = fmax(change, fabs(out[i] - here[i]));
  }
  return change;
}

static void post_halo(Plate* plate, MPI_Request requests[4]) {
  int up = plate->rank > 0 ? plate->rank - 1 : MPI_PROC_NULL;
  int down = plate->rank + 1 < plate->size ? plate->rank + 1 : MPI_PROC_NULL;
  double* first = plate->now + columns;
  double* last = plate->now + (size_t)rows * columns;
  MPI_Irecv(plate->now, columns, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(last + columns, columns, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(last, columns, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(first, columns, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[3]);
}

static void distribute_heating(Plate* plate, int step) {
  for (int i = 0; plate->rank == 0 && i < heated; i++) plate->heating[i] = 1e-3 * ((i + step) % 7);
  MPI_Bcast(plate->heating, heated, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < heated; i++) plate->now[columns + i] += plate->heating[i];
}

static double largest_change(double own) {
  double largest = 0;
  MPI_Allreduce(&own, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return largest;
}

static double take_step(Plate* plate, int step) {
  MPI_Request requests[4];
  distribute_heating(plate, step);
  post_halo(plate, requests);
  double change = 0;
  for (int row = 2; row < rows; row++) change = fmax(change, update_row(plate, row));
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  change = fmax(change, update_row(plate, 1));
  change = fmax(change, update_row(plate, rows));
  double* old = plate->now;
  plate->now = plate->next;
  plate->next = old;
  return largest_change(change);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static Plate plate;
  int steps = argc > 1 ? atoi(argv[1]) : 0;
  plate.now = calloc((size_t)(rows + 2) * columns, sizeof(double));
  plate.next = calloc((size_t)(rows + 2) * columns, sizeof(double));
  if (steps < 1 || !plate.now || !plate.next) {
    fprintf(stderr, "usage: heat STEPS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &plate.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &plate.size);
  double change = 0;
  for (int step = 0; step < steps; step++) change = take_step(&plate, step);
  if (plate.rank == 0) printf("largest change in the last step: %.6f\n", change);
  free(plate.now);
  free(plate.next);
  MPI_Finalize();
  return 0;
}
