// SPDX-License-Identifier: Apache-2.0
// Sends around a ring in every way that there is, identified by the tags. See tests/record/point_to_point_test.cpp.
#include <array>
#include <vector>

#include <mpi.h>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size;
  const int before = (rank + size - 1) % size;
  const MPI_Comm world = MPI_COMM_WORLD;
  std::vector<double> out(1000, 1.0);
  std::vector<double> in(1000);
  std::array<MPI_Request, 2> requests{};

  // 1: from anywhere, with room for more than comes.
  MPI_Irecv(in.data(), 1000, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &requests[0]);
  MPI_Isend(out.data(), 10, MPI_DOUBLE, next, 1, world, &requests[1]);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);

  // 2: both at once.
  MPI_Sendrecv(out.data(), 20, MPI_DOUBLE, next, 2, in.data(), 20, MPI_DOUBLE, before, 2, world, MPI_STATUS_IGNORE);
  // 3: in place.
  MPI_Sendrecv_replace(in.data(), 30, MPI_DOUBLE, next, 3, before, 3, world, MPI_STATUS_IGNORE);

  // 4: persistent, three rounds.
  MPI_Recv_init(in.data(), 40, MPI_DOUBLE, before, 4, world, &requests[0]);
  MPI_Send_init(out.data(), 40, MPI_DOUBLE, next, 4, world, &requests[1]);
  for (int round = 0; round < 3; ++round) {
    MPI_Startall(2, requests.data());
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  }
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);  // not started: nothing completes
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);

  // 5: probed and matched.
  MPI_Isend(out.data(), 50, MPI_DOUBLE, next, 5, world, &requests[1]);
  MPI_Message message;
  MPI_Status status;
  MPI_Mprobe(MPI_ANY_SOURCE, 5, world, &message, &status);
  MPI_Mrecv(in.data(), 50, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);

  // 6: probed, tested, of a type with holes.
  MPI_Datatype holes;
  MPI_Type_vector(5, 1, 2, MPI_DOUBLE, &holes);
  MPI_Type_commit(&holes);
  MPI_Issend(out.data(), 3, holes, next, 6, world, &requests[1]);
  MPI_Probe(before, 6, world, &status);
  MPI_Recv(in.data(), 15, MPI_DOUBLE, before, 6, world, MPI_STATUS_IGNORE);
  for (int is_done = 0; is_done == 0;) {
    MPI_Test(&requests[1], &is_done, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&holes);

  // No peer, and a receive that is cancelled.
  MPI_Send(out.data(), 1, MPI_DOUBLE, MPI_PROC_NULL, 7, world);
  MPI_Recv(in.data(), 1, MPI_DOUBLE, MPI_PROC_NULL, 7, world, MPI_STATUS_IGNORE);
  MPI_Irecv(in.data(), 1, MPI_DOUBLE, before, 8, world, &requests[0]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

  MPI_Finalize();
}
