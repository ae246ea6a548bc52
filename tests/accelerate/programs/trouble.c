// SPDX-License-Identifier: Apache-2.0
// trouble WHAT: a program with a mistake, or one that does what few do.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mpi.h>

static int rank, size;

/// A message that is longer than its receive: an error for a program that wants to know.
static void truncated(void) {
  int data[4] = {1, 2, 3, 4};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) {
    MPI_Send(data, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    const int error = MPI_Recv(data, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(error, &error_class);
    printf("%s\n", error_class == MPI_ERR_TRUNCATE ? "MPI_ERR_TRUNCATE" : "no error");
  }
}

/// A rank that MPI does not have.
static void wrong_rank(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD), &error_class);
  if (rank == 0) {
    printf("%s\n", error_class == MPI_ERR_RANK ? "MPI_ERR_RANK" : "no error");
  }
}

/// Two messages that are never received: MPI_Finalize ends all the same.
static void never_received(void) {
  static char large[1 << 22];
  MPI_Request request;
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Isend(large, sizeof large, MPI_CHAR, (rank + 1) % size, 1, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
}

/// A child process that does not call MPI, while messages are under way.
static void forks(void) {
  static char large[1 << 22], other[1 << 22];
  MPI_Request requests[2];
  memset(large, rank + 1, sizeof large);
  MPI_Irecv(other, sizeof other, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(large, sizeof large, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
  const pid_t child = fork();
  if (child == 0) {
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) {
    printf("%d %d\n", WEXITSTATUS(status), other[sizeof other - 1]);
  }
}

/// A communicator that is freed with a message of it under way.
static void freed(void) {
  MPI_Comm copy;
  MPI_Request request;
  int got = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, copy, &request);
  if (rank != 0) {
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, copy);
  } else {
    MPI_Request sent;
    MPI_Issend(&rank, 1, MPI_INT, (rank + 1) % size, 0, copy, &sent);
    MPI_Request_free(&sent);
  }
  MPI_Comm_free(&copy);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) {
    printf("%d\n", got);
  }
}

/// A rank that dies; the others wait for it.
static void killed(void) {
  if (rank == 1) {
    abort();
  }
  int got;
  MPI_Recv(&got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void aborts(void) {
  if (rank == 1) {
    MPI_Abort(MPI_COMM_WORLD, 5);
  }
  int got;
  MPI_Recv(&got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Messages between two groups, which MPI serves itself, beside ours.
static void groups(void) {
  MPI_Comm half, between;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 9, &between);
  int got = -1, own = -1, half_rank;
  MPI_Comm_rank(half, &half_rank);
  MPI_Request requests[2];
  MPI_Irecv(&got, 1, MPI_INT, half_rank, 0, between, &requests[0]);
  MPI_Irecv(&own, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(&rank, 1, MPI_INT, half_rank, 0, between);
  MPI_Send(&rank, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) {
    printf("%d %d\n", got, own);
  }
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*run)(void);
  } all[] = {{"truncated", truncated},
             {"wrong_rank", wrong_rank},
             {"never_received", never_received},
             {"forks", forks},
             {"freed", freed},
             {"killed", killed},
             {"aborts", aborts},
             {"groups", groups}};
  if (argc != 2) {
    return 2;
  }
  if (strcmp(argv[1], "without_mpi") == 0) {
    printf("nothing\n");
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (strcmp(argv[1], all[i].name) == 0) {
      all[i].run();
    }
  }
  MPI_Finalize();
  return 0;
}
