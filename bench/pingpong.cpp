// SPDX-License-Identifier: Apache-2.0
// Half the round trip of a message between two ranks, by raw MPI and by plait on each of its drivers, which alternate
// in one run.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/plait.hpp"

#include "support/link_meter.hpp"
#include "support/report.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"

namespace {

using Bytes = plait::Bytes;
using Buffer = std::span<std::byte>;

constexpr std::size_t mebi = std::size_t{1} << 20U;

/// One way of exchanging messages, and its times.
struct Way {
  std::string name;
  std::unique_ptr<plait::Runtime> runtime;  ///< None for raw MPI.
  std::vector<double> all_us;               ///< Half of each round trip.
  std::vector<double> medians_us;           ///< Of each block: means would include the work of other programs.
  bench::Crossing crossing;                 ///< Of the current size; nothing outside a lab.
};

template <class Side>
void round_trip(const Side& side, Buffer buffer) {
  const int peer = 1 - side.rank();
  if (peer == 1) {
    side.blocking_send(peer, 1, buffer);
    side.blocking_receive(peer, 1, buffer);
  } else {
    side.blocking_receive(peer, 1, buffer);
    side.blocking_send(peer, 1, buffer);
  }
}

/// Microseconds of `count` half round trips, each timed; they include one clock reading.
template <class Side>
std::vector<double> half_round_trips(const Side& side, Buffer buffer, int count) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> all_us;
  MPI_Barrier(MPI_COMM_WORLD);
  Clock::time_point before = Clock::now();
  for (int i = 0; i < count; ++i) {
    round_trip(side, buffer);
    const Clock::time_point now = Clock::now();
    all_us.push_back(std::chrono::duration<double, std::micro>(now - before).count() / 2);
    before = now;
  }
  return all_us;
}

/// Raw MPI, then plait on each available driver.
std::vector<Way> all_ways() {
  std::vector<Way> ways(1);
  ways[0].name = "raw MPI";
  for (const char* const network : {"mpi", "shm", "ofi"}) {
    plait::Options options = plait::Options::from_environment();
    options.network.network = network;
    options.trace_folder.clear();
    options.progression.mode = plait::comm::ProgressionMode::none;  // the thread that waits polls
    try {
      ways.push_back({.name = network, .runtime = std::make_unique<plait::Runtime>(MPI_COMM_WORLD, options)});
    } catch (const plait::Error& error) {
      if (bench::RawMpi::rank() == 0) {
        std::fprintf(stderr, "without %s: %s\n", network, error.what());
      }
    }
  }
  return ways;
}

void measure(std::vector<Way>& ways, std::size_t size, int blocks) {
  Bytes buffer(size);
  const int count = size <= 8192 ? 1000 : static_cast<int>(std::clamp<std::size_t>(16 * mebi / size, 2, 200));
  bench::LinkMeter links;
  for (int block = 0; block < blocks + 1; ++block) {
    for (Way& way : ways) {
      if (block == 1) {  // the first warms up
        way.medians_us.clear();
        way.all_us.clear();
        way.crossing = {};
      }
      links.start();
      std::vector<double> block_us = way.runtime ? half_round_trips(bench::Plait{*way.runtime}, buffer, count)
                                                 : half_round_trips(bench::RawMpi{}, buffer, count);
      links.stop(2.0 * count * static_cast<double>(size), way.crossing);
      way.all_us.insert(way.all_us.end(), block_us.begin(), block_us.end());
      way.medians_us.push_back(bench::median(std::move(block_us)));
    }
  }
}

void report_on(bench::Report& report, std::vector<Way>& ways, std::size_t size) {
  const double raw = bench::median(ways[0].all_us);
  const double raw_p99 = bench::quantile(ways[0].all_us, 0.99);
  for (Way& way : ways) {
    if (!way.crossing.is_whole()) {
      report.note(way.crossing.why_left_out(way.name, size));
      continue;
    }
    const std::map<std::string, std::string> params{{"bytes", std::to_string(size)}, {"way", way.name}};
    const double p99 = bench::quantile(way.all_us, 0.99);
    report.add({"half round trip", params, way.all_us, "us", "raw MPI", raw});
    report.add({"99th percentile", params, p99, "us", "raw MPI", raw_p99});
    if (way.runtime) {
      std::vector<double> over;
      for (std::size_t block = 0; block < way.medians_us.size(); ++block) {
        over.push_back(way.medians_us[block] - ways[0].medians_us[block]);
      }
      report.add({"over raw MPI", params, over, "us"});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "pingpong",
      "on shared memory a short message costs no more than raw MPI's and a long one has its bandwidth; "
      "over MPI 8 bytes cost raw MPI + 0.25 us",
      2,
      argc,
      argv};
  plait::MpiSession session{argc, argv};
  bench::rank_of(2, 2);
  std::vector<Way> ways = all_ways();
  std::vector<std::size_t> sizes{8, 1024, 65536, mebi, 4 * mebi};
  if (report.is_full()) {
    sizes.clear();
    for (std::size_t size = 1; size <= 64 * mebi; size *= 2) {
      sizes.push_back(size);
    }
  }
  for (const std::size_t size : sizes) {
    measure(ways, size, report.is_full() ? 31 : 15);
    report_on(report, ways, size);
  }
  report.finish();
}
