// SPDX-License-Identifier: Apache-2.0
// The shortest task that is worth its overhead: METG(50 %) of Task Bench, the length of tasks at which half of the
// cores' time is useful. Tasks of a fixed length in its dependence patterns over two ranks, beside plain MPI. Each task
// checks its inputs, and each is counted.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "plait/base/topology.hpp"

#include "grain/board.hpp"
#include "grain/mpi_steps.hpp"
#include "grain/plait_steps.hpp"
#include "support/computation.hpp"
#include "support/drivers.hpp"
#include "support/report.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr std::size_t points_per_rank = 4;
constexpr int window_periods = 5;
constexpr double length_min = 1e-8;
constexpr double length_max = 1e-2;

/// What rank 0 decides.
struct Trial {
  int windows = 0;  ///< 0: no more trials.
  int computation = 0;
};

/// Finds the length for one side. Collective.
template <class Side, class Steps>
class Search {
 public:
  Search(const Side& side, Steps& steps, grain::Board& board, double steps_of_a_second)
      : side_{side}, steps_{steps}, board_{board}, steps_of_a_second_{steps_of_a_second} {}

  /// Seconds, valid on rank 0.
  double run() {
    if (side_.rank() != 0) {
      while (follow({}) > 0) {
      }
      return 0;
    }
    const double found = lead();
    follow({.windows = 0});
    return found;
  }

 private:
  /// Brackets the length by doubling and halving from a guess, then bisects.
  double lead() {
    double length = 2e-6;
    double low = 0;
    double high = 0;
    while ((low == 0 || high == 0) && length > length_min && length < length_max) {
      if (efficiency(length) < 0.5) {
        low = length;
        length *= 2;
      } else {
        high = length;
        length /= 2;
      }
    }
    if (low == 0 || high == 0) {
      return length;  // beyond the limits
    }
    for (int i = 0; i < 4; ++i) {
      const double middle = std::sqrt(low * high);
      (efficiency(middle) < 0.5 ? low : high) = middle;
    }
    return std::sqrt(low * high);
  }

  /// The share of the cores' time that tasks of this length take; the median of three trials.
  double efficiency(double length) {
    constexpr double trial_seconds = 4e-3;
    constexpr double overhead_guess = 1e-6;
    constexpr int windows_max = 20;
    const grain::Shape& shape = board_.shape();
    const auto tasks = static_cast<double>(shape.window * shape.width());
    const double cores = std::min<double>(static_cast<double>(shape.rank_count), plait::machine_core_count());
    const double wished = trial_seconds * cores / (tasks * (2 * length + overhead_guess));
    const Trial trial{.windows = std::clamp(static_cast<int>(wished), 1, windows_max),
                      .computation = static_cast<int>(length * steps_of_a_second_)};
    std::vector<double> all;
    for (int i = 0; i < 3; ++i) {
      const double seconds = follow(trial);
      all.push_back(tasks * trial.windows * length / (seconds * cores));
    }
    return bench::median(all);
  }

  /// Runs one trial, or none, as rank 0 decides. Returns its seconds.
  double follow(Trial trial) {
    trial.windows = bench::of_rank_0(side_, trial.windows);
    if (trial.windows == 0) {
      return 0;
    }
    trial.computation = bench::of_rank_0(side_, trial.computation);
    board_.begin();
    side_.barrier();
    const bench::Stopwatch watch;
    steps_.run(static_cast<std::size_t>(trial.windows), static_cast<std::uint64_t>(trial.computation));
    side_.barrier();
    const double seconds = watch.seconds();
    if (!board_.is_right(static_cast<std::size_t>(trial.windows))) {
      fmt::print(stderr, "bench_grain: a task has not run exactly once, or with wrong inputs\n");
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return seconds;
  }

  const Side& side_;
  Steps& steps_;
  grain::Board& board_;
  double steps_of_a_second_;
};

class Grain {
 public:
  explicit Grain(bench::Report& report)
      : report_{report}, drivers_{report.is_full() ? bench::drivers() : std::vector{bench::default_driver()}} {}

  void measure(grain::Pattern pattern) {
    const auto ranks = static_cast<std::size_t>(bench::RawMpi::rank_count());
    grain::Shape shape{.pattern = pattern,
                       .rank = static_cast<std::size_t>(bench::RawMpi::rank()),
                       .rank_count = ranks,
                       .points_per_rank = points_per_rank};
    shape.window = window_periods * grain::period(shape.width());
    std::vector<double> plain;
    std::map<std::pair<std::string, std::uint32_t>, std::vector<double>> ours;
    for (int repetition = 0; repetition < (report_.is_full() ? 15 : 5); ++repetition) {
      grain::Board board{shape};
      {
        grain::MpiSteps steps{board};
        plain.push_back(search(bench::RawMpi{}, steps, board));
      }
      for (const bench::Driver& driver : drivers_) {
        for (const std::uint32_t workers : {1U, 2U}) {
          plait::Options options = plait::Options::from_environment();
          options.worker_count = workers;
          const auto runtime = driver.start(options);  // none exists while plain MPI is measured
          grain::PlaitSteps steps{*runtime, board};
          ours[{driver.name, workers}].push_back(search(bench::Plait{*runtime}, steps, board));
        }
      }
    }
    for (const auto& [who, lengths] : ours) {
      report_.add({.name = grain::name_of(pattern),
                   .params = {{"driver", who.first}, {"workers", std::to_string(who.second)}},
                   .value = lengths,
                   .unit = "us",
                   .best = std::ranges::min(lengths),
                   .peers = {{"plain MPI", bench::median(plain), std::ranges::min(plain)}}});
    }
  }

 private:
  /// Microseconds, valid on rank 0.
  template <class Side, class Steps>
  double search(const Side& side, Steps& steps, grain::Board& board) {
    return 1e6 * Search{side, steps, board, steps_of_a_second_}.run();
  }

  bench::Report& report_;
  std::vector<bench::Driver> drivers_;
  double steps_of_a_second_ = static_cast<double>(bench::computation_of(1));
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"grain",
                       "tasks aim at half of the cores' time from 1.2 us on (spread: 3.5 us), and with two workers a "
                       "core from 3 times that on",
                       2,
                       argc,
                       argv};
  const plait::MpiSession session{argc, argv};
  bench::rank_of(2, 2);
  Grain all{report};
  for (const grain::Pattern pattern : grain::patterns) {
    all.measure(pattern);
  }
  report.finish();
}
