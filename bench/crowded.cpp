// SPDX-License-Identifier: Apache-2.0
// More ranks than cores, as on a laptop: what waits has to leave its core to what works, at once. Beside raw MPI, whose
// waiting ranks yield.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/plait.hpp"

#include "support/report.hpp"
#include "support/shared_cores.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"

namespace {

using plait::Bytes;

constexpr std::size_t broadcast_bytes = std::size_t{64} << 10U;
constexpr std::size_t pair_bytes = 4096;
constexpr double time_over_raw_max = 2;  ///< Wanted where ranks outnumber the cores: half of raw MPI's rate.

/// Microseconds of one `exchange`, of which `count` follow one another; the slowest rank's. Collective.
double microseconds(int count, const std::function<void()>& exchange) {
  exchange();  // warms up
  MPI_Barrier(MPI_COMM_WORLD);
  const bench::Stopwatch watch;
  for (int i = 0; i < count; ++i) {
    exchange();
  }
  double took = watch.microseconds() / count;
  MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return took;
}

/// Two ranks answer each other, while all others wait for rank 0.
template <class Side>
double answer(const Side& side) {
  constexpr int rounds = 100;
  std::uint64_t value = 0;
  const auto bytes = std::as_writable_bytes(std::span{&value, 1});
  return microseconds(3,
                      [&] {
                        for (int i = 0; i < rounds && side.rank() < 2; ++i) {
                          if (side.rank() == 0) {
                            side.blocking_send(1, 1, bytes);
                            side.blocking_receive(1, 1, bytes);
                          } else {
                            side.blocking_receive(0, 1, bytes);
                            side.blocking_send(0, 1, bytes);
                          }
                        }
                        bench::of_rank_0(side, 0);
                      }) /
         rounds;
}

/// Rank 0 asks each other rank, and each answers.
template <class Side>
double ask_all(const Side& side) {
  std::vector<std::uint64_t> values(static_cast<std::size_t>(side.rank_count()));
  return microseconds(100, [&] {
    if (side.rank() != 0) {
      side.blocking_receive(0, 1, {});
      side.blocking_send(0, 1, std::as_bytes(std::span{values}.first(1)));
      return;
    }
    std::vector<typename Side::Request> requests;
    for (int peer = 1; peer < side.rank_count(); ++peer) {
      requests.push_back(
          side.receive(peer, 1, std::as_writable_bytes(std::span{values}.subspan(static_cast<std::size_t>(peer), 1))));
      side.blocking_send(peer, 1, {});
    }
    side.wait_all(std::span{requests});
  });
}

struct Collectives {
  std::function<void()> barrier;
  std::function<void(Bytes&)> broadcast;
  std::function<void(const Bytes&, Bytes&)> all_to_all;
};

using Samples = std::map<std::string, std::vector<double>>;

template <class Side>
void measure(const Side& side, const Collectives& collectives, Samples& samples) {
  Bytes data(broadcast_bytes);
  const Bytes out(pair_bytes * static_cast<std::size_t>(side.rank_count()));
  Bytes in(out.size());
  samples["two answer each other, 8 B"].push_back(answer(side));
  samples["one asks all, 8 B"].push_back(ask_all(side));
  samples["barrier"].push_back(microseconds(100, collectives.barrier));
  samples["broadcast, 64 KiB"].push_back(microseconds(20, [&] {
    collectives.broadcast(data);
    collectives.barrier();
  }));
  samples["all-to-all, 4 KiB a pair"].push_back(microseconds(20, [&] { collectives.all_to_all(out, in); }));
}

void measure_raw(Samples& samples) {
  const auto bytes = [](const Bytes& data) { return static_cast<int>(data.size()); };
  measure(bench::RawMpi{},
          {.barrier = [] { MPI_Barrier(MPI_COMM_WORLD); },
           .broadcast = [&](Bytes& data) { MPI_Bcast(data.data(), bytes(data), MPI_BYTE, 0, MPI_COMM_WORLD); },
           .all_to_all =
               [](const Bytes& out, Bytes& in) {
                 MPI_Alltoall(out.data(), pair_bytes, MPI_BYTE, in.data(), pair_bytes, MPI_BYTE, MPI_COMM_WORLD);
               }},
          samples);
}

void measure_ours(Samples& samples) {
  plait::Options options = plait::Options::from_environment();
  options.network.network = "shm";
  plait::Runtime runtime{MPI_COMM_WORLD, options};
  const plait::comm::Group all{runtime.messages()};
  measure(bench::Plait{runtime},
          {.barrier = [&] { plait::comm::barrier(all).wait(); },
           .broadcast = [&](Bytes& data) { plait::comm::broadcast(all, 0, std::span{data}).wait(); },
           .all_to_all =
               [&](const Bytes& out, Bytes& in) {
                 plait::comm::all_to_all(all, std::span<const std::byte>{out}, std::span{in}).wait();
               }},
          samples);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "crowded",
      "with more ranks than cores, at least half of raw MPI's rate, and at most twice its time for collectives",
      {.ranks = {2, 4, 8}},
      argc,
      argv};
  plait::MpiSession session{argc, argv};
  Samples raw;
  Samples ours;
  const int blocks = report.is_full() ? 15 : 7;
  for (int block = 0; block < blocks; ++block) {
    measure_raw(raw);
    measure_ours(ours);  // its runtime exists only now, so that nothing disturbs raw MPI
  }
  const bool is_crowded = bench::is_crowded();
  for (const auto& [name, samples] : ours) {
    report.add({.name = name,
                .params = {{"ranks", std::to_string(bench::RawMpi::rank_count())},
                           {"cores", std::to_string(plait::machine_core_count())}},
                .value = samples,
                .unit = "us",
                .peer = "raw MPI",
                .peer_value = bench::median(raw.at(name)),
                .wanted = is_crowded ? std::optional{bench::at_most_of_peer(time_over_raw_max)} : std::nullopt});
  }
  report.finish();
}
