/* SPDX-License-Identifier: Apache-2.0 */
/* A sum of 1 MiB that is begun, computed beside, and waited for; the last rank computes longer. And a halo exchange by
 * a neighbourhood collective.
 *
 * Without progress in the background the sum moves only while all ranks are in MPI: the others wait until the last rank
 * waits, too. Usage: overlap STEPS MILLISECONDS, the time that the last rank computes; others compute a tenth of it. */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { length = 1 << 17, halo = 512 };

static double own[length], sum[length], edges[2 * halo], halos[2 * halo];

static double compute(double seconds) {
  const double until = MPI_Wtime() + seconds;
  double value = 1;
  while (MPI_Wtime() < until)
    for (int i = 0; i < 1000; i++) value = value * 0.999 + 0.001;
  return value;
}

static void sum_beside_computing(double seconds) {
  MPI_Request request;
  MPI_Iallreduce(own, sum, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  own[0] = compute(seconds);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void exchange_halo(MPI_Comm ring) {
  MPI_Neighbor_alltoall(edges, halo, MPI_DOUBLE, halos, halo, MPI_DOUBLE, ring);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, periodic = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int steps = argc > 2 ? atoi(argv[1]) : 0;
  const double seconds = argc > 2 ? 1e-3 * atof(argv[2]) : 0;
  if (steps < 1 || seconds <= 0) {
    fprintf(stderr, "usage: overlap STEPS MILLISECONDS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  for (int step = 0; step < steps; step++) {
    sum_beside_computing(rank == size - 1 ? seconds : seconds / 10);
    exchange_halo(ring);
  }
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}
