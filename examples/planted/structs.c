/* SPDX-License-Identifier: Apache-2.0 */
/* Particles sent and broadcast as an array of structs with a gap in each, and as contiguous doubles of the same bytes.
 *
 * MPI libraries copy structs member by member. Usage: structs MESSAGES, on two ranks. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { particles = 4096 };

typedef struct {
  double x;
  double kept_here; /* is not sent: the gap */
  double y;
} Particle;

static Particle structs[particles];
static double doubles[2 * particles];

static MPI_Datatype make_type(void) {
  int lengths[2] = {1, 1};
  MPI_Aint places[2] = {offsetof(Particle, x), offsetof(Particle, y)};
  MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DOUBLE}, made;
  MPI_Type_create_struct(2, lengths, places, types, &made);
  MPI_Type_commit(&made);
  return made;
}

static void pass_structs(int rank, MPI_Datatype type) {
  if (rank == 0) MPI_Send(structs, particles, type, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(structs, particles, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pass_doubles(int rank) {
  if (rank == 0) MPI_Send(doubles, 2 * particles, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(doubles, 2 * particles, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void broadcast_structs(MPI_Datatype type) {
  MPI_Bcast(structs, particles, type, 0, MPI_COMM_WORLD);
}

static void broadcast_doubles(void) {
  MPI_Bcast(doubles, 2 * particles, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, messages = argc > 1 ? atoi(argv[1]) : 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (messages < 1) {
    fprintf(stderr, "usage: structs MESSAGES\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Datatype type = make_type();
  for (int message = 0; message < messages; message++) {
    pass_doubles(rank);
    MPI_Barrier(MPI_COMM_WORLD); /* the receiver is there first, mostly */
    pass_structs(rank, type);
    MPI_Barrier(MPI_COMM_WORLD);
    broadcast_doubles();
    MPI_Barrier(MPI_COMM_WORLD);
    broadcast_structs(type);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Type_free(&type);
  MPI_Finalize();
  return 0;
}
