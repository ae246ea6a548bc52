/* SPDX-License-Identifier: Apache-2.0 */
/* Regions by plait/region.h and by MPI_Pcontrol, of a program in C that is linked with MPI only. */
#include <mpi.h>

#include "plait/region.h"

static void share(int step) {
  MPI_Bcast(&step, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int step;
  int rank;
  int received = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (step = 0; step < 3; ++step) {
    plait_region_begin("solve");
    share(step);
    plait_region_end();
  }
  MPI_Pcontrol(1, "of IPM");
  MPI_Pcontrol(7);
  share(0);
  MPI_Pcontrol(-7);
  MPI_Pcontrol(-1, "of IPM");
  MPI_Pcontrol(-1, "never begun");
  MPI_Pcontrol(2);
  /* A message leaves while the recording is off, and is received when it is on again. */
  MPI_Pcontrol(0);
  share(1);
  if (rank == 0) {
    MPI_Send(&step, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    MPI_Pcontrol(1, (const char*)1); /* what a caller without a second argument may pass */
    MPI_Send(&step, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Pcontrol(1, (const char*)0);
    MPI_Recv(&received, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&received, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  plait_region_begin("never ended");
  MPI_Finalize();
  plait_region_end();
  return 0;
}
