// SPDX-License-Identifier: Apache-2.0
// partitioned: sends in partitions, which threads make ready in any order, and starts operations in another order than
// they were made in. Needs MPI 4.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { operations = 3, partitions = 8, receive_partitions = 4, ints = 5000, rounds = 20 };

static MPI_Request sends[operations];

/// Every other partition of all sends, from the last.
static void* make_ready(void* first) {
  for (int i = 0; i < operations; ++i) {
    for (int partition = partitions - 2 + *(int*)first; partition >= 0; partition -= 2) {
      MPI_Pready(partition, sends[i]);
    }
  }
  return NULL;
}

static void run(int rank, int size) {
  static int given[operations][partitions * ints], got[operations][partitions * ints];
  MPI_Request receives[operations];
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int i = 0; i < operations; ++i) {
    MPI_Psend_init(given[i], partitions, ints, MPI_INT, to, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]);
    MPI_Precv_init(got[i],
                   receive_partitions,
                   ints * partitions / receive_partitions,
                   MPI_INT,
                   from,
                   4,
                   MPI_COMM_WORLD,
                   MPI_INFO_NULL,
                   &receives[i]);
  }
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < operations; ++i) {
      for (int k = 0; k < partitions * ints; ++k) {
        given[i][k] = ((rank * operations + i) * rounds + round) * partitions * ints + k;
      }
    }
    MPI_Startall(operations, receives);
    for (int i = operations; i-- > 0;) {
      MPI_Start(&sends[i]);
    }
    if (round % 3 == 0) {
      for (int i = 0; i < operations; ++i) {
        int last[] = {partitions - 1};
        MPI_Pready_range(0, partitions - 2, sends[i]);
        MPI_Pready_list(1, last, sends[i]);
      }
    } else {
      int even = 0, odd = 1;
      pthread_t other;
      pthread_create(&other, NULL, make_ready, &odd);
      make_ready(&even);
      pthread_join(other, NULL);
    }
    for (int arrived = 0; round % 2 == 0 && !arrived;) {
      MPI_Parrived(receives[0], receive_partitions - 1, &arrived);
    }
    MPI_Status statuses[operations];
    MPI_Waitall(operations, sends, statuses);
    MPI_Waitall(operations, receives, statuses);
    for (int i = 0; i < operations; ++i) {
      for (int k = 0; k < partitions * ints; ++k) {
        if (got[i][k] != ((from * operations + i) * rounds + round) * partitions * ints + k) {
          fprintf(stderr, "partitioned: rank %d: round %d, operation %d: a wrong value\n", rank, round, i);
          MPI_Abort(MPI_COMM_WORLD, 1);
        }
      }
    }
  }
  for (int i = 0; i < operations; ++i) {
    MPI_Request_free(&sends[i]);
    MPI_Request_free(&receives[i]);
  }
}

int main(int argc, char** argv) {
  int rank = 0, size = 0, level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  run(rank, size);
  if (rank == 0) {
    printf("%d rounds\n", rounds);
  }
  MPI_Finalize();
  return 0;
}
