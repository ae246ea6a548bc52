// SPDX-License-Identifier: Apache-2.0
// Half the round trip of 1 MiB while computing threads load the machine, half of them beside each rank: how soon a rank
// answers that shares its cores.
#include <map>
#include <optional>
#include <set>
#include <string>

#include "plait/base/topology.hpp"

#include "support/compare.hpp"
#include "support/computation.hpp"
#include "support/report.hpp"
#include "support/round_trips.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr std::size_t message_bytes = std::size_t{1} << 20U;
constexpr double over_unloaded_max = 4;  ///< Wanted of the 99th percentile, with as many computing threads as cores.

/// Half round trips until `count` or `seconds` are reached, at least one; the first warms up. Rank 0 decides, and marks
/// the last message in its first byte.
template <class Side>
std::vector<double> measure_block(const Side& side, int rank, int count, double seconds) {
  std::vector<double> microseconds;
  plait::Bytes buffer(message_bytes, std::byte{0});
  const bench::Stopwatch all;
  for (bool is_last = false; !is_last;) {
    if (rank == 0) {
      is_last = all.seconds() > seconds || static_cast<int>(microseconds.size()) == count;
      buffer.front() = std::byte{is_last};
      const bench::Stopwatch watch;
      side.blocking_send(1, 1, buffer);
      side.blocking_receive(1, 1, buffer);
      microseconds.push_back(watch.microseconds() / 2);
    } else {
      side.blocking_receive(0, 1, buffer);
      is_last = buffer.front() == std::byte{1};
      side.blocking_send(0, 1, buffer);
    }
  }
  if (microseconds.size() > 1) {
    microseconds.erase(microseconds.begin());
  }
  return microseconds;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"reactivity",
                       "with as many computing threads as cores, the 99th percentile of 1 MiB is at most 4 times the "
                       "unloaded median",
                       2,
                       argc,
                       argv};
  plait::MpiSession session{argc, argv};
  const int rank = bench::rank_of(2, 2);
  const std::vector<bench::Driver> drivers{bench::default_driver()};
  const int count = report.is_full() ? 1000 : 200;
  const double seconds = report.is_full() ? 5 : 0.5;
  const int cores = static_cast<int>(plait::machine_core_count());
  std::set loads{0, 1, 2, 4, 8, 16, 32};
  loads.insert(cores);
  std::map<std::string, double> unloaded;  // medians, by driver
  for (const int load : loads) {
    const bench::ComputingThreads computing{(load + 1 - rank) / 2};
    const auto [raw, ours] = bench::compare<bench::RoundTrips>(drivers, 3, [&](const auto& side, auto& samples) {
      samples.blocks.push_back(measure_block(side, rank, count, seconds));
    });
    for (const auto& [driver, samples] : ours) {
      if (load == 0) {
        unloaded[driver] = bench::median(samples.quantiles(0.5));
      }
      const auto wanted =
          load == cores ? std::optional{bench::at_most(over_unloaded_max * unloaded[driver], "4 x the unloaded median")}
                        : std::nullopt;
      add_quantiles(report, {{"computing", std::to_string(load)}, {"driver", driver}}, samples, raw, wanted);
    }
  }
  report.finish();
}
