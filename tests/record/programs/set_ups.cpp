// SPDX-License-Identifier: Apache-2.0
// Makes communicators in every way, and uses windows and files: tests/record/set_ups_test.cpp. The second argument is
// how many communicators to have at the same time.
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <mpi.h>

namespace {

/// A message from the last member to the first: its tag identifies the communicator.
void mark(MPI_Comm comm, int tag) {
  int rank = 0;
  int size = 0;
  int data = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (rank == size - 1) {
    MPI_Request request;
    MPI_Isend(&data, 1, MPI_INT, 0, tag, comm, &request);
    if (rank == 0) {
      MPI_Recv(&data, 1, MPI_INT, size - 1, tag, comm, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == 0) {
    MPI_Recv(&data, 1, MPI_INT, size - 1, tag, comm, MPI_STATUS_IGNORE);
  }
}

void use_window(MPI_Comm comm) {
  std::vector<double> memory(100);
  MPI_Win window;
  MPI_Win_create(memory.data(), 800, sizeof(double), MPI_INFO_NULL, comm, &window);
  MPI_Win_fence(0, window);
  double data = 1;
  MPI_Put(&data, 1, MPI_DOUBLE, 0, 3, 1, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  MPI_Get(&data, 1, MPI_DOUBLE, 0, 5, 1, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

void use_file(MPI_Comm comm, const std::string& path) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const std::array<double, 4> data{};
  MPI_File file;
  MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, 32 * rank, data.data(), 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  const MPI_Comm world = MPI_COMM_WORLD;
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);

  MPI_Comm copy;
  MPI_Comm_dup(world, &copy);
  mark(copy, 1);

  MPI_Comm backwards;
  MPI_Comm_split(copy, 0, size - rank, &backwards);
  mark(backwards, 2);

  MPI_Comm half;
  MPI_Comm_split(world, rank % 2, rank, &half);
  mark(half, 3);

  MPI_Comm late;
  MPI_Request request;
  MPI_Comm_idup(world, &late, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  mark(late, 4);

  if (size > 1) {
    MPI_Comm across;
    MPI_Intercomm_create(half, 0, world, rank % 2 == 0 ? 1 : 0, 9, &across);
    int local = 0;
    int data = 0;
    MPI_Comm_rank(across, &local);
    if (local == 0 && rank % 2 == 0) {
      MPI_Send(&data, 1, MPI_INT, 0, 5, across);
    } else if (local == 0) {
      MPI_Recv(&data, 1, MPI_INT, 0, 5, across, MPI_STATUS_IGNORE);
    }
    MPI_Comm merged;
    MPI_Intercomm_merge(across, rank % 2, &merged);
    mark(merged, 6);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&across);
  }
  use_window(half);
  use_file(world, arguments[1]);

  std::vector<MPI_Comm> many(static_cast<std::size_t>(std::atoi(arguments[2])));
  for (MPI_Comm& one : many) {
    MPI_Comm_dup(MPI_COMM_SELF, &one);
  }
  for (MPI_Comm& one : many) {
    MPI_Barrier(one);
    MPI_Comm_free(&one);
  }
  MPI_Finalize();
}
