// SPDX-License-Identifier: Apache-2.0
// A plain MPI program for `plait bench accelerate`, which knows nothing of plait. Rank 0 prints lines "NAME SECONDS",
// one for each round:
//   roundtrip BYTES ROUNDS                         half: half a round trip, the mean of a batch
//   burst COUNT BYTES ROUNDS                       burst: from the first send to the acknowledgement, the mean of many
//   matching COUNT ROUNDS                          expected, unexpected: of a message among COUNT, in shuffled order
//   overlap BYTES COMPUTING ROUNDS [polled|kernel] empty, one_way, sender, receiver, both; computing
//   alltoall BYTES COMPUTING ROUNDS [kernel]       alone, both; computing
// `polled`: with a thread that polls. `kernel`: what TCP takes by itself, on 2 ranks.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "support/computation.hpp"
#include "support/exchange.hpp"
#include "support/kernel_tcp.hpp"
#include "support/polled_mpi.hpp"
#include "support/raw_mpi.hpp"
#include "support/stopwatch.hpp"

namespace {

void print(const char* name, double seconds) {
  if (bench::RawMpi::rank() == 0) {
    std::printf("%s %.10f\n", name, seconds);
  }
}

void measure_round_trips(std::size_t bytes, int rounds) {
  bench::RawMpi raw;
  std::vector<std::byte> buffer(bytes);
  bench::Exchange exchange{raw, bench::RawMpi::rank(), std::span{buffer}};
  const int batch = bytes < 65536 ? 1000 : 10;
  exchange.one_way(buffer, batch);  // connects
  for (int round = 0; round < rounds; ++round) {
    print("half", exchange.one_way(buffer, batch));
  }
}

double burst(int count, std::span<std::byte> buffer) {
  const std::size_t bytes = buffer.size() / static_cast<std::size_t>(count);
  std::vector<MPI_Request> requests;
  const bench::RawMpi raw;
  const int rank = bench::RawMpi::rank();
  const bench::Stopwatch watch;
  for (int i = 0; i < count; ++i) {
    const auto part = buffer.subspan(static_cast<std::size_t>(i) * bytes, bytes);
    requests.push_back(rank == 0 ? raw.send(1, 1, part) : raw.receive(0, 1, part));
  }
  bench::RawMpi::wait_all(requests);
  if (rank == 0) {
    raw.blocking_receive(1, 2, {});
  } else {
    raw.blocking_send(0, 2, {});
  }
  return watch.seconds();
}

void measure_bursts(int count, std::size_t bytes, int rounds) {
  constexpr int batch = 500;
  std::vector<std::byte> buffer(static_cast<std::size_t>(count) * bytes);
  for (int round = -1; round < rounds; ++round) {
    double sum = 0;
    for (int i = 0; i < batch; ++i) {
      sum += burst(count, buffer);
    }
    if (round >= 0) {
      print("burst", sum / batch);
    }
  }
}

/// Rank 1 sends `count` messages in the order of `tags`, rank 0 receives them in the order of their tags. If they are
/// expected, the receives are posted before; else the messages have come before. Returns the time of receiving all.
double match(std::span<const int> tags, bool are_expected) {
  constexpr std::size_t bytes = 8;
  const bench::RawMpi raw;
  const int last = static_cast<int>(tags.size());
  std::vector<std::byte> buffer(tags.size() * bytes);
  const auto part = [&](int tag) { return std::span{buffer}.subspan(static_cast<std::size_t>(tag) * bytes, bytes); };
  std::vector<MPI_Request> requests;
  const auto send_all = [&] {
    for (const int tag : tags) {
      requests.push_back(raw.send(0, tag, part(tag)));
    }
  };
  const auto receive_all = [&] {
    for (int tag = 0; tag < last; ++tag) {
      requests.push_back(raw.receive(1, tag, part(tag)));
    }
  };
  bench::RawMpi::barrier();
  double seconds = 0;
  if (bench::RawMpi::rank() == 1) {
    if (are_expected) {
      raw.blocking_receive(0, last, {});
    }
    send_all();
    raw.blocking_send(0, last + 1, {});  // it comes after all of them
    bench::RawMpi::wait_all(requests);
  } else if (are_expected) {
    receive_all();
    const bench::Stopwatch watch;
    raw.blocking_send(1, last, {});
    bench::RawMpi::wait_all(requests);
    seconds = watch.seconds();
    raw.blocking_receive(1, last + 1, {});
  } else {
    raw.blocking_receive(1, last + 1, {});
    const bench::Stopwatch watch;
    receive_all();
    bench::RawMpi::wait_all(requests);
    seconds = watch.seconds();
  }
  return seconds / static_cast<double>(tags.size());
}

void measure_matching(int count, int rounds) {
  std::vector<int> tags(static_cast<std::size_t>(count));
  std::iota(tags.begin(), tags.end(), 0);
  match(std::span{tags}.first(100), true);  // connects
  std::ranges::shuffle(tags, std::mt19937{1});
  for (int round = 0; round < rounds; ++round) {
    print("expected", match(tags, true));
    print("unexpected", match(tags, false));
  }
}

template <class Side>
void measure_overlap(Side& side, std::span<std::byte> buffer, double computing_seconds, int rounds) {
  bench::Exchange exchange{side, bench::RawMpi::rank(), buffer};
  exchange.one_way({}, 5);  // connects
  exchange.one_way(buffer, 1);
  std::uint64_t steps = bench::computation_of(computing_seconds);
  MPI_Bcast(&steps, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int round = 0; round < rounds; ++round) {
    print("empty", exchange.one_way({}, 20));
    print("one_way", exchange.one_way(buffer, 1));
    print("sender", exchange.sender_computes(steps));
    print("receiver", exchange.receiver_computes(steps));
    print("both", exchange.both_compute(steps));
    print(
        "computing",
        computing_seconds * static_cast<double>(steps) / static_cast<double>(bench::computation_of(computing_seconds)));
  }
}

double exchange_all(std::span<std::byte> given, std::span<std::byte> taken, std::uint64_t steps) {
  const int bytes = static_cast<int>(given.size()) / bench::RawMpi::rank_count();
  MPI_Barrier(MPI_COMM_WORLD);
  const bench::Stopwatch watch;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ialltoall(given.data(), bytes, MPI_BYTE, taken.data(), bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
  bench::compute(steps);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return watch.seconds();
}

double exchange_both(bench::KernelTcp& tcp,
                     std::span<const std::byte> given,
                     std::span<std::byte> taken,
                     std::uint64_t steps) {
  MPI_Barrier(MPI_COMM_WORLD);
  const bench::Stopwatch watch;
  tcp.blocking_send(0, 0, given);
  bench::compute(steps);
  tcp.blocking_receive(0, 0, taken);
  return watch.seconds();
}

/// `exchange(given, taken, steps)`: an all-to-all, and computing before its wait.
template <class Exchange>
void measure_alltoall(std::size_t bytes, double computing_seconds, int rounds, const Exchange& exchange) {
  std::vector<std::byte> given(bytes);
  std::vector<std::byte> taken(given.size());
  std::uint64_t steps = bench::computation_of(computing_seconds);
  MPI_Bcast(&steps, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  exchange(given, taken, 0);  // connects
  for (int round = 0; round < rounds; ++round) {
    print("alone", exchange(given, taken, 0));
    print("both", exchange(given, taken, steps));
    print(
        "computing",
        computing_seconds * static_cast<double>(steps) / static_cast<double>(bench::computation_of(computing_seconds)));
  }
}

int run(std::span<char*> arguments) {
  const std::string_view mode = arguments.empty() ? "" : arguments[0];
  const auto number = [&](std::size_t at) { return std::strtoull(arguments[at], nullptr, 10); };
  const auto whole = [&](std::size_t at) { return std::atoi(arguments[at]); };
  const auto seconds = [&](std::size_t at) { return std::atof(arguments[at]); };
  const std::string_view by = arguments.size() == 5 ? arguments[4] : "";
  if (mode == "roundtrip" && arguments.size() == 3) {
    measure_round_trips(number(1), whole(2));
  } else if (mode == "burst" && arguments.size() == 4) {
    measure_bursts(whole(1), number(2), whole(3));
  } else if (mode == "matching" && arguments.size() == 3) {
    measure_matching(whole(1), whole(2));
  } else if (mode == "overlap" && (arguments.size() == 4 || by == "polled" || by == "kernel")) {
    std::vector<std::byte> buffer(number(1));
    bench::RawMpi raw;
    if (by == "polled") {
      bench::PolledMpi polled{raw};
      measure_overlap(polled, buffer, seconds(2), whole(3));
    } else if (by == "kernel") {
      bench::KernelTcp tcp;
      measure_overlap(tcp, buffer, seconds(2), whole(3));
    } else {
      measure_overlap(raw, buffer, seconds(2), whole(3));
    }
  } else if (mode == "alltoall" && by == "kernel") {
    bench::KernelTcp tcp;
    measure_alltoall(number(1), seconds(2), whole(3), [&](auto given, auto taken, auto steps) {
      return exchange_both(tcp, given, taken, steps);
    });
  } else if (mode == "alltoall" && arguments.size() == 4) {
    measure_alltoall(
        number(1) * static_cast<std::size_t>(bench::RawMpi::rank_count()), seconds(2), whole(3), exchange_all);
  } else {
    std::fprintf(stderr, "roundtrip, burst, matching, overlap or alltoall, with arguments as its source lists them\n");
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_polled = argc > 1 && std::string_view{argv[argc - 1]} == "polled";
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, is_polled ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
  int status = 2;
  if (is_polled && level < MPI_THREAD_MULTIPLE) {
    std::fprintf(stderr, "this MPI has no MPI_THREAD_MULTIPLE\n");
  } else {
    status = run(std::span{argv + 1, static_cast<std::size_t>(argc - 1)});
  }
  MPI_Finalize();
  return status;
}
