// SPDX-License-Identifier: Apache-2.0
// Ends in the way that its argument names, or does what recorders break at: tests/record/hard_cases_test.cpp.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <mpi.h>

namespace {

int rank = 0;
int size = 0;

void exchange(int tag) {
  int in = 0;
  const int out = tag;
  MPI_Sendrecv(&out,
               1,
               MPI_INT,
               (rank + 1) % size,
               tag,
               &in,
               1,
               MPI_INT,
               (rank + size - 1) % size,
               tag,
               MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/// A receive that nothing is ever sent to.
MPI_Request unmatched() {
  static int in;
  MPI_Request request;
  MPI_Irecv(&in, 1, MPI_INT, (rank + 1) % size, 99, MPI_COMM_WORLD, &request);
  return request;
}

void fork_twice() {
  exchange(1);
  const pid_t child = ::fork();
  if (child == 0) {
    std::exit(0);  // runs what the recorder does at the end of a process
  }
  ::waitpid(child, nullptr, 0);
  const int status = std::system("true");
  exchange(status == 0 ? 2 : 3);
}

/// Each of several threads sends to itself on the other rank, in a loop.
void many_threads() {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 200; ++i) {
        int in = 0;
        MPI_Request requests[2];
        MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, thread, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&i, 1, MPI_INT, (rank + 1) % size, thread, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      }
    });
  }
}

void many_short_threads() {
  for (int i = 0; i < 100; ++i) {
    std::jthread{[] {
      int flag = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }}.join();
  }
}

void spin() {
  for (int i = 0; i < 200'000; ++i) {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
}

/// As many receives are open at the same time; each is waited for alone, the last one first.
void many_requests() {
  constexpr int count = 100'000;
  std::vector<int> data(count);
  std::vector<MPI_Request> requests(count);
  for (int i = 0; i < count; ++i) {
    MPI_Recv_init(&data[i], 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < count; ++i) {
    MPI_Start(&requests[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    MPI_Send(&i, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
  }
  for (int i = count; i-- > 0;) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[i]);
  }
}

}  // namespace

int main(int count, char** arguments) {
  int provided = 0;
  const std::string_view what = arguments[1];
  if (what == "never") {
    std::puts("no MPI here");
    return 0;
  }
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (what == "fork") {
    fork_twice();
  } else if (what == "threads") {
    many_threads();
  } else if (what == "short_threads") {
    many_short_threads();
  } else if (what == "spin") {
    spin();
  } else if (what == "requests") {
    many_requests();
  } else {
    exchange(1);
    unmatched();
    MPI_Barrier(MPI_COMM_WORLD);
    if (what == "abort" && rank == 0) {
      MPI_Abort(MPI_COMM_WORLD, 3);
    } else if (what == "killed" && rank == 0) {
      ::kill(::getpid(), SIGKILL);
    } else if (what == "exit") {
      std::exit(0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
