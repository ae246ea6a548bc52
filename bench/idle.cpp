// SPDX-License-Identifier: Apache-2.0
// Processor time that a rank takes while its program sleeps and nothing is in flight, in percent of a core, beside that
// of MPI alone.
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "support/drivers.hpp"
#include "support/report.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr double percent_max = 0.1;  ///< Wanted of each rank that waits for no message.

/// Percent of a core that is used during a sleep of `seconds`.
template <class Side>
double percent_asleep(const Side& side, double seconds) {
  side.barrier();
  const double before = bench::processor_seconds();
  const bench::Stopwatch watch;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return 100 * (bench::processor_seconds() - before) / watch.seconds();
}

/// The maximum over all ranks, for each value.
std::vector<double> of_all_ranks(std::vector<double> percentages) {
  MPI_Allreduce(
      MPI_IN_PLACE, percentages.data(), static_cast<int>(percentages.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return percentages;
}

/// Exchanges eager and rendezvous messages.
void exchange(const bench::Plait& side, int rank) {
  for (const auto& [bytes, count] : {std::pair{std::size_t{8}, 2000}, std::pair{std::size_t{1} << 20U, 20}}) {
    plait::Bytes buffer(bytes, std::byte{1});
    for (int i = 0; i < count; ++i) {
      if (rank == 0) {
        side.blocking_send(1, 1, buffer);
        side.blocking_receive(1, 1, buffer);
      } else {
        side.blocking_receive(0, 1, buffer);
        side.blocking_send(0, 1, buffer);
      }
    }
  }
}

/// Percent of a core: at the start, after traffic, and while a receive is posted whose message has not been sent.
struct Samples {
  std::vector<double> at_start;
  std::vector<double> after_traffic;
  std::vector<double> receive_posted;
};

void measure(plait::Runtime& runtime, int rank, double seconds, Samples& samples) {
  const bench::Plait side{runtime};
  samples.at_start.push_back(percent_asleep(side, seconds));
  exchange(side, rank);
  samples.after_traffic.push_back(percent_asleep(side, seconds));
  std::byte byte{1};
  plait::Request receive = side.receive(1 - rank, 2, std::span{&byte, 1});
  samples.receive_posted.push_back(percent_asleep(side, seconds));
  side.blocking_send(1 - rank, 2, std::span{&byte, 1});
  receive.wait();
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"idle", "a runtime with nothing in flight takes less than 0.1 % of a core", 2, argc, argv};
  plait::MpiSession session{argc, argv};
  const int rank = bench::rank_of(2, 2);
  const bench::Driver driver = bench::default_driver();
  const double seconds = report.is_full() ? 5 : 1.5;
  std::vector<double> raw;
  std::map<std::string, Samples> ours;
  for (int repetition = 0; repetition < (report.is_full() ? 5 : 2); ++repetition) {
    raw.push_back(percent_asleep(bench::RawMpi{}, seconds));
    for (const bench::Progression& progression : bench::progressions()) {
      const auto runtime = driver.start(progression.options);
      measure(*runtime, rank, seconds, ours[progression.name]);
    }
  }
  const double raw_percent = bench::median(of_all_ranks(raw));
  for (const auto& [progression, samples] : ours) {
    for (const auto& [when, values] : {std::pair{"at start", &samples.at_start},
                                       std::pair{"after traffic", &samples.after_traffic},
                                       std::pair{"receive posted", &samples.receive_posted}}) {
      report.add(
          {.name = "processor time",
           .params = {{"driver", driver.name}, {"progression", progression}, {"when", when}},
           .value = of_all_ranks(*values),
           .unit = "%",
           .peer = "MPI alone",
           .peer_value = raw_percent,
           .wanted = values == &samples.receive_posted ? std::nullopt : std::optional{bench::at_most(percent_max)}});
    }
  }
  report.finish();
}
