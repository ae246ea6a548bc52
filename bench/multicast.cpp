// SPDX-License-Identifier: Apache-2.0
// One datum to many ranks, beside MPI_Bcast: when all receive in time, and with one rank that receives late. On a
// simulated network, to a thousand ranks.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "support/raw_mpi.hpp"
#include "support/report.hpp"
#include "support/shared_cores.hpp"
#include "support/simulated_ranks.hpp"
#include "support/stopwatch.hpp"

namespace {

using plait::Bytes;
using plait::Rank;

constexpr plait::Tag tag{1};
constexpr std::chrono::milliseconds lateness{20};
constexpr std::uint32_t simulated_rank_count = 1024;
/// Wanted over MPI_Bcast, with a core for each rank and without.
constexpr double time_over_raw_max = 1.1;
constexpr double crowded_time_over_raw_max = 2;

std::vector<plait::comm::Destination> all_but_0(std::uint32_t rank_count) {
  std::vector<plait::comm::Destination> to;
  for (std::uint32_t rank = 1; rank < rank_count; ++rank) {
    to.push_back({.rank = Rank{rank}});
  }
  return to;
}

/// Microseconds that `one` takes on the slowest of the ranks with `counts`; the same on all. All start at the same
/// time.
double slowest_us(const std::function<void()>& one, bool counts = true) {
  MPI_Barrier(MPI_COMM_WORLD);
  const bench::Stopwatch watch;
  one();
  double took = counts ? watch.seconds() * 1e6 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return took;
}

void multicast(plait::comm::Endpoint& net, Bytes& data) {
  if (net.self() == Rank{0}) {
    net.multicast(all_but_0(net.rank_count()), tag, data).wait();
  } else {
    net.receive({Rank{0}, tag}, std::span{data}).wait();
  }
}

struct Case {
  std::size_t bytes = 0;
  int repetitions = 0;
};

void measure(bench::Report& report, plait::Runtime& runtime, const Case& what) {
  plait::comm::Endpoint& net = runtime.messages();
  const std::uint32_t rank = net.self().value();
  // The last receiver is a leaf of the tree.
  const std::uint32_t late_rank = net.rank_count() - 1;
  const bool is_late = rank == late_rank;
  Bytes data(what.bytes, std::byte{1});
  std::vector<double> raw;
  std::vector<double> ours;
  std::vector<double> late;
  std::uint64_t packets = 0;
  for (int repetition = 0; repetition <= what.repetitions; ++repetition) {
    const double r =
        slowest_us([&] { MPI_Bcast(data.data(), static_cast<int>(what.bytes), MPI_BYTE, 0, MPI_COMM_WORLD); });
    const std::uint64_t before = net.activity().packet_count();
    const double p = slowest_us([&] { multicast(net, data); });
    packets = net.activity().packet_count() - before;
    const double l = slowest_us(
        [&] {
          if (is_late) {
            std::this_thread::sleep_for(lateness);
          }
          multicast(net, data);
        },
        !is_late && rank != 0);
    if (repetition > 0) {  // the first warms up
      raw.push_back(r);
      ours.push_back(p);
      late.push_back(l);
    }
  }
  const double raw_median = bench::median(raw);
  const std::map<std::string, std::string> params{{"bytes", std::to_string(what.bytes)},
                                                  {"ranks", std::to_string(net.rank_count())},
                                                  {"driver", net.driver_name()}};
  report.add({.name = "all receive in time",
              .params = params,
              .value = ours,
              .unit = "us",
              .peer = "MPI_Bcast",
              .peer_value = raw_median,
              .wanted = bench::at_most_of_peer(bench::is_crowded() ? crowded_time_over_raw_max : time_over_raw_max)});
  report.add({fmt::format("the others, when the last is {} ms late", lateness.count()),
              params,
              late,
              "us",
              "MPI_Bcast in time",
              raw_median});
  if (what.bytes <= 4096) {
    const auto copies = static_cast<double>(packets);
    report.add({"packets of the root",
                params,
                copies,
                "",
                "one by one",
                static_cast<double>(net.rank_count() - 1),
                "ceil(log2(n + 1))",
                std::ceil(std::log2(net.rank_count()))});
  }
}

/// Microseconds until all ranks have `bytes` of rank 0, on a simulated network of 1 us and 10 GB/s.
double simulated_us(bench::SimulatedRanks& ranks, std::size_t bytes, bool as_multicast) {
  const Bytes data(bytes);
  std::vector<Bytes> buffers(ranks.size(), Bytes(bytes));
  return ranks.run([&](std::uint32_t rank, std::vector<plait::Request>& requests) {
    if (rank > 0) {
      requests.push_back(ranks[rank].receive({Rank{0}, tag}, std::span{buffers[rank]}));
    } else if (as_multicast) {
      requests.push_back(ranks[0].multicast(all_but_0(ranks.size()), tag, data));
    } else {
      for (std::uint32_t to = 1; to < ranks.size(); ++to) {
        requests.push_back(ranks[0].send({Rank{to}, tag}, data));
      }
    }
  });
}

void model(bench::Report& report) {
  bench::SimulatedRanks ranks{simulated_rank_count};
  for (const std::size_t bytes : {std::size_t{1024}, std::size_t{65536}}) {
    report.add({"model: all receive in time",
                {{"bytes", std::to_string(bytes)}, {"ranks", std::to_string(simulated_rank_count)}, {"driver", "sim"}},
                simulated_us(ranks, bytes, true),
                "us",
                "one by one",
                simulated_us(ranks, bytes, false)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"multicast",
                       "a datum reaches all ranks within 1.1 times MPI_Bcast's time, twice where ranks outnumber the "
                       "cores; a late receiver that forwards it to none delays no other",
                       {.ranks = {4, 16}},
                       argc,
                       argv};
  plait::MpiSession session{argc, argv};
  {
    plait::Runtime runtime{MPI_COMM_WORLD};
    std::vector<Case> cases{{1024, 60}, {65536, 60}, {1U << 20U, 30}};
    if (report.is_full()) {
      cases = {{1024, 200}, {8192, 200}, {65536, 200}, {1U << 20U, 60}, {16U << 20U, 20}};
    }
    for (const Case& one : cases) {
      measure(report, runtime, one);
    }
    if (runtime.self() == Rank{0} && runtime.rank_count() == 4) {
      model(report);
    }
    plait::barrier(runtime.messages());
    report.finish();
  }
}
