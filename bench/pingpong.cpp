// SPDX-License-Identifier: Apache-2.0
// Half the round trip of a message between two ranks by the mpi driver, beside MPI_Send and MPI_Recv, alternating in
// one run.
#include <chrono>
#include <functional>

#include <mpi.h>

#include "plait/plait.hpp"

#include "support/report.hpp"

namespace {

using Bytes = plait::Bytes;

/// Microseconds of half a round trip, over `count` of them.
double half_round_trip_us(int count, const std::function<void()>& one) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    one();
  }
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / (2.0 * count);
}

void raw_round_trip(int rank, Bytes& buffer) {
  const int bytes = static_cast<int>(buffer.size());
  const int peer = 1 - rank;
  if (rank == 0) {
    MPI_Send(buffer.data(), bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    MPI_Recv(buffer.data(), bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(buffer.data(), bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer.data(), bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
  }
}

void plait_round_trip(plait::comm::Endpoint& net, Bytes& buffer) {
  const plait::Address peer{plait::Rank{1 - net.self().value()}, plait::Tag{1}};
  if (net.self() == plait::Rank{0}) {
    net.send(peer, buffer).wait();
    net.receive(peer, std::span{buffer}).wait();
  } else {
    net.receive(peer, std::span{buffer}).wait();
    net.send(peer, buffer).wait();
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"pingpong",
                       "an 8-byte message costs at most what raw MPI costs + 0.3 us; long ones run at its bandwidth",
                       2,
                       argc,
                       argv};
  plait::MpiSession session{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  if (runtime.rank_count() != 2) {
    std::fprintf(stderr, "bench_pingpong needs 2 ranks: plait bench pingpong\n");
    return 2;
  }
  const int rank = static_cast<int>(runtime.self().value());
  std::vector<std::size_t> sizes{8, 1024, 65536, std::size_t{4} << 20U};
  if (report.is_full()) {
    sizes = {8, 64, 512, 1024, 4096, 8192, 16384, 65536, 1U << 18U, 1U << 20U, 1U << 22U, 1U << 24U, 1U << 26U};
  }
  for (const std::size_t size : sizes) {
    Bytes buffer(size);
    const int count = size <= 8192 ? 5000 : static_cast<int>(std::max<std::size_t>(4, (std::size_t{64} << 20U) / size));
    std::vector<double> raw;
    std::vector<double> ours;
    std::vector<double> over;
    for (int repetition = 0; repetition < (report.is_full() ? 31 : 11) + 1; ++repetition) {
      plait::barrier(runtime.messages());
      const double r = half_round_trip_us(count, [&] { raw_round_trip(rank, buffer); });
      plait::barrier(runtime.messages());
      const double p = half_round_trip_us(count, [&] { plait_round_trip(runtime.messages(), buffer); });
      if (repetition > 0) {  // the first warms up
        raw.push_back(r);
        ours.push_back(p);
        over.push_back(p - r);
      }
    }
    const double raw_median = bench::spread_of(raw).median;
    report.add({"half round trip",
                {{"bytes", std::to_string(size)}},
                bench::spread_of(ours),
                "us",
                "raw MPI",
                raw_median,
                "",
                {}});
    report.add({"over raw MPI", {{"bytes", std::to_string(size)}}, bench::spread_of(over), "us", "", {}, "", {}});
  }
  if (rank == 0) {
    report.finish();
  }
}
