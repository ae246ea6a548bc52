// SPDX-License-Identifier: Apache-2.0
// The bandwidth of long messages between two hosts with two links: by raw MPI, and by plait over its mpi driver, over
// one rail, and over both. All alternate in one run. What crossed each link is counted.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "support/link_meter.hpp"
#include "support/report.hpp"
#include "support/sides.hpp"

namespace {

constexpr std::size_t kibi = 1024;
constexpr std::size_t mebi = kibi * kibi;
constexpr double speed_up_wanted = 1.8;

/// One way of exchanging messages.
struct Way {
  std::string name;
  std::unique_ptr<plait::Runtime> runtime;  ///< None for raw MPI.
  bool has_both_links = false;              ///< Bytes must have crossed both.
  std::vector<double> mb_per_s;             ///< Of each block, at the current size.
  bench::Crossing crossing;
};

/// Megabytes per second one way, from `count` round trips.
template <class Side>
double rate_of(const Side& side, std::span<std::byte> buffer, int count) {
  using Clock = std::chrono::steady_clock;
  const int peer = 1 - side.rank();
  MPI_Barrier(MPI_COMM_WORLD);
  const Clock::time_point start = Clock::now();
  for (int trip = 0; trip < count; ++trip) {
    if (side.rank() == 0) {
      side.blocking_send(peer, 1, buffer);
      side.blocking_receive(peer, 1, buffer);
    } else {
      side.blocking_receive(peer, 1, buffer);
      side.blocking_send(peer, 1, buffer);
    }
  }
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  return 2.0 * count * static_cast<double>(buffer.size()) / us;
}

Way way_of(const std::string& name, const std::string& network, const std::string& addresses) {
  plait::Options options = plait::Options::from_environment();
  options.network.network = network;
  options.network.ofi_address = addresses;
  options.trace_folder.clear();
  options.progression.mode = plait::comm::ProgressionMode::none;  // the thread that waits polls
  return {.name = name,
          .runtime = std::make_unique<plait::Runtime>(MPI_COMM_WORLD, options),
          .has_both_links = addresses.find(',') != std::string::npos};
}

void measure_block(std::vector<Way>& ways, bench::LinkMeter& links, std::span<std::byte> buffer) {
  const int count = static_cast<int>(std::clamp<std::size_t>(16 * mebi / buffer.size(), 2, 32));
  for (Way& way : ways) {
    links.start();
    way.mb_per_s.push_back(way.runtime ? rate_of(bench::Plait{*way.runtime}, buffer, count)
                                       : rate_of(bench::RawMpi{}, buffer, count));
    links.stop(2.0 * count * static_cast<double>(buffer.size()), way.crossing);
  }
}

void measure(std::vector<Way>& ways, std::size_t size, int blocks) {
  plait::Bytes buffer(size);
  bench::LinkMeter links;
  measure_block(ways, links, buffer);  // warms up
  for (Way& way : ways) {
    way.mb_per_s.clear();
    way.crossing = {};
  }
  for (int block = 0; block < blocks; ++block) {
    measure_block(ways, links, buffer);
  }
}

/// Adds the rows of all ways whose messages crossed the links that they had to.
void report_on(bench::Report& report, const std::vector<Way>& ways, std::size_t size) {
  for (const Way& way : ways) {
    if (!way.crossing.is_whole()) {
      report.note(way.crossing.why_left_out(way.name, size));
    } else if (way.has_both_links && !way.crossing.used_all_links()) {
      report.note(
          fmt::format("{} is left out at {} bytes: {} of it crossed the links", way.name, size, way.crossing.shares()));
    } else {
      report.add({.name = "bandwidth",
                  .params = {{"bytes", std::to_string(size)}, {"way", way.name}, {"links", way.crossing.shares()}},
                  .value = way.mb_per_s,
                  .unit = "MB/s",
                  .peer = "raw MPI",
                  .peer_value = bench::median(ways.front().mb_per_s)});
    }
  }
  const Way& one = ways[ways.size() - 2];
  const Way& both = ways.back();
  if (!one.crossing.is_whole() || !both.crossing.is_whole() || !both.crossing.used_all_links()) {
    return;
  }
  std::vector<double> ratios;
  ratios.reserve(both.mb_per_s.size());
  for (std::size_t block = 0; block < both.mb_per_s.size(); ++block) {
    ratios.push_back(both.mb_per_s[block] / one.mb_per_s[block]);
  }
  report.add({.name = "two rails over one",
              .params = {{"bytes", std::to_string(size)}},
              .value = ratios,
              .unit = "x",
              .wanted = bench::at_least(speed_up_wanted)});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"rails",
                       "two links move a long message at least 1.8 times as fast as one",
                       {.ranks = {2}, .network = bench::Network::lab, .links = 2},
                       argc,
                       argv};
  const plait::MpiSession session{argc, argv};
  bench::rank_of(2, 2);
  const std::string addresses = plait::NetworkOptions::from_environment().ofi_address;
  const std::size_t comma = addresses.find(',');
  if (comma == std::string::npos) {
    report.note("nothing was measured: PLAIT_OFI_ADDRESS has no two addresses; `plait bench rails` needs a lab");
    report.finish();
    return 0;
  }
  std::vector<Way> ways(1);
  ways.front().name = "raw MPI";
  ways.push_back(way_of("plait mpi", "mpi", addresses.substr(0, comma)));
  ways.push_back(way_of("plait ofi, one rail", "ofi", addresses.substr(0, comma)));
  ways.push_back(way_of("plait ofi, two rails", "ofi", addresses));
  std::vector<std::size_t> sizes{256 * kibi, mebi, 4 * mebi, 16 * mebi};
  if (report.is_full()) {
    sizes = {64 * kibi, 128 * kibi, 256 * kibi, 512 * kibi, mebi, 2 * mebi, 4 * mebi, 8 * mebi, 16 * mebi, 64 * mebi};
  }
  for (const std::size_t size : sizes) {
    measure(ways, size, report.is_full() ? 21 : 9);
    report_on(report, ways, size);
  }
  report.note(
      "links: what crossed the first and the second of them; MPI uses both unless "
      "OMPI_MCA_btl_tcp_if_include=eth0");
  report.finish();
}
