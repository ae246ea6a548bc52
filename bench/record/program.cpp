// SPDX-License-Identifier: Apache-2.0
// A plain MPI program for bench_record, which knows nothing of plait. Rank 0 prints lines "seconds NUMBER":
//   calls ROUNDS                  one: of a call, in messages to itself (two are posted, one wait for both)
//   exchange BYTES ROUNDS STEPS   three, each the least of all rounds: of a two-way exchange between neighbours, of
//                                 computing, of both
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "support/computation.hpp"
#include "support/stopwatch.hpp"

namespace {

double seconds_of_call(int rounds) {
  constexpr int batch = 1000;
  constexpr int calls_a_round = 3;
  std::vector<double> seconds;
  char given = 1;
  char taken = 0;
  for (int round = 0; round < rounds; ++round) {
    const bench::Stopwatch watch;
    for (int i = 0; i < batch; ++i) {
      std::array<MPI_Request, 2> requests{};
      MPI_Irecv(&taken, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, requests.data());
      MPI_Isend(&given, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, &requests[1]);
      MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    }
    seconds.push_back(watch.seconds() / (batch * calls_a_round));
  }
  return bench::median(seconds);
}

/// Posts, computes, waits. Without bytes it only computes.
double exchange(std::vector<char>& given, std::vector<char>& taken, std::uint64_t steps) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto bytes = static_cast<int>(given.size());
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Barrier(MPI_COMM_WORLD);
  const bench::Stopwatch watch;
  if (bytes > 0) {
    MPI_Irecv(taken.data(), bytes, MPI_CHAR, (rank + size - 1) % size, 1, MPI_COMM_WORLD, requests.data());
    MPI_Isend(given.data(), bytes, MPI_CHAR, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[1]);
  }
  bench::compute(steps);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  return watch.seconds();
}

void print_exchange(std::size_t bytes, int rounds, std::uint64_t steps, bool prints) {
  std::vector<char> given(bytes, 1);
  std::vector<char> taken(bytes, 1);
  std::vector<char> none;
  std::array<std::vector<double>, 3> seconds;
  exchange(given, taken, 0);  // connects
  for (int round = 0; round < rounds; ++round) {
    seconds[0].push_back(exchange(given, taken, 0));
    seconds[1].push_back(exchange(none, none, steps));
    seconds[2].push_back(exchange(given, taken, steps));
  }
  if (prints) {
    for (const std::vector<double>& all : seconds) {
      std::printf("seconds %.9f\n", std::ranges::min(all));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string_view mode = argc > 1 ? argv[1] : "";
  int status = 0;
  if (mode == "calls" && argc == 3) {
    const double seconds = seconds_of_call(std::atoi(argv[2]));
    if (rank == 0) {
      std::printf("seconds %.12f\n", seconds);
    }
  } else if (mode == "exchange" && argc == 5) {
    print_exchange(
        std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]), std::strtoull(argv[4], nullptr, 10), rank == 0);
  } else {
    std::fprintf(stderr, "calls ROUNDS | exchange BYTES ROUNDS STEPS\n");
    status = 2;
  }
  MPI_Finalize();
  return status;
}
