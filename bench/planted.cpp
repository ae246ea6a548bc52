// SPDX-License-Identifier: Apache-2.0
// What `plait predict --faster` and `--workers` promise against what a program then gains: a cluster of bodies under
// their own gravity, in which one kind of task does its work twice. Each run is recorded; the slow one predicts the
// fast one and the reverse, for a kind on the critical path and for one off it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/plait.hpp"
#include "plait/replay/predict/predict_tasks.hpp"
#include "plait/replay/predict/task_gains.hpp"
#include "plait/testing/temporary_folder.hpp"

#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using plait::replay::TaskOptions;
using plait::replay::TaskRun;

constexpr double error_percent_max = 10;
constexpr std::size_t cell_count = 12;
constexpr std::size_t bodies_each = 192;

struct Body {
  std::array<double, 3> place{};
  std::array<double, 3> velocity{};
  std::array<double, 3> acceleration{};
  double potential = 0;
};

/// Bodies in a row of cells, each with its neighbours as sources. The kinds of its tasks:
/// - forces: of a cell. All workers share them.
/// - order: of all bodies, by energy. One task, for which the next step waits: on the critical path.
/// - profile: of a part of the bodies by distance, which no task waits for: beside `order`, if there is a worker for
/// it.
class Cluster {
 public:
  /// `slow` does its work twice; empty: none.
  explicit Cluster(std::string slow) : slow_{std::move(slow)}, cells_(cell_count) {
    std::uint32_t random = 1;
    for (auto& cell : cells_) {
      cell.resize(bodies_each);
      for (Body& body : cell) {
        for (double& along : body.place) {
          random = random * 1664525 + 1013904223;
          along = random / 4294967296.0;
        }
      }
    }
    energies_.resize(cell_count * bodies_each);
    profiles_.resize(profile_parts);
  }

  void add_step(plait::task::Graph& graph) {
    plait::task::Task order = task(graph, "order", [this] { sort_by_energy(); });
    for (std::size_t cell = 0; cell < cell_count; ++cell) {
      plait::task::Task forces = task(graph, "forces", [this, cell] { sum_forces(cell); });
      order.after(forces);
      forces_.push_back(forces);
    }
    for (std::size_t part = 0; part < profile_parts; ++part) {
      plait::task::Task profile = task(graph, "profile", [this, part] { bin_by_distance(part); });
      for (const plait::task::Task& forces : forces_) {
        profile.after(forces);
      }
    }
  }

  /// Of what was computed, so that nothing is left out.
  [[nodiscard]] double checksum() const { return energies_.front() + profiles_.front().front(); }

 private:
  static constexpr std::size_t profile_parts = 2;

  plait::task::Task task(plait::task::Graph& graph, const char* kind, std::function<void()> work) {
    const int times = slow_ == kind ? 2 : 1;
    return graph.task(kind, [work = std::move(work), times] {
      for (int i = 0; i < times; ++i) {
        work();
      }
    });
  }

  void sum_forces(std::size_t cell) {
    for (Body& body : cells_[cell]) {
      body.acceleration = {};
      body.potential = 0;
    }
    for (std::size_t step = 0; step < 3; ++step) {
      for (Body& body : cells_[cell]) {
        for (const Body& source : cells_[(cell + step) % cell_count]) {
          add_pull(body, source);
        }
      }
    }
  }

  static void add_pull(Body& body, const Body& source) {
    std::array<double, 3> apart{};
    double square = 1e-2;  // softening
    for (std::size_t i = 0; i < 3; ++i) {
      apart[i] = source.place[i] - body.place[i];
      square += apart[i] * apart[i];
    }
    const double inverse = 1 / std::sqrt(square);
    body.potential -= inverse;
    for (std::size_t i = 0; i < 3; ++i) {
      body.acceleration[i] += inverse * inverse * inverse * apart[i];
    }
  }

  void sort_by_energy() {
    for (int round = 0; round < order_rounds; ++round) {
      auto next = energies_.begin();
      for (const auto& cell : cells_) {
        for (const Body& body : cell) {
          *next++ = body.potential * (round % 2 == 0 ? 1 : -1);
        }
      }
      std::ranges::sort(energies_);
    }
  }

  void bin_by_distance(std::size_t part) {
    std::vector<double>& bins = profiles_[part];
    bins.assign(64, 0);
    for (int round = 0; round < profile_rounds; ++round) {
      for (std::size_t cell = part; cell < cell_count; cell += profile_parts) {
        for (const Body& body : cells_[cell]) {
          const double distance = std::hypot(body.place[0], body.place[1], body.place[2]);
          bins[static_cast<std::size_t>(std::log1p(distance) * 32)] += body.potential;
        }
      }
    }
  }

  static constexpr int order_rounds = 10;
  static constexpr int profile_rounds = 10;

  std::string slow_;
  std::vector<std::vector<Body>> cells_;
  std::vector<plait::task::Task> forces_;
  std::vector<double> energies_;
  std::vector<std::vector<double>> profiles_;
};

/// Runs so many steps with a kind that does its work twice, and returns the recorded tasks.
TaskRun recorded(const std::string& slow, std::uint32_t workers, int steps) {
  const plait::test::TemporaryFolder folder;
  {
    plait::net::LoopbackNetwork network{1};
    plait::Options options = plait::Options::from_environment();
    options.worker_count = workers;
    options.trace_folder = folder.path() / "run";
    plait::Runtime runtime{network.driver(plait::Rank{0}), options};
    Cluster cluster{slow};
    plait::task::Graph graph;
    cluster.add_step(graph);
    for (int step = 0; step < steps; ++step) {
      runtime.run(graph);
    }
    if (!std::isfinite(cluster.checksum())) {
      throw std::runtime_error{"the bodies have no finite energies"};
    }
  }
  return plait::replay::tasks_of_folder(folder.path() / "run").value();
}

double seconds(plait::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// The time with tasks of a kind `factor` times as long, on so many workers.
double predicted(const TaskRun& run, const std::string& kind, double factor, std::uint32_t workers) {
  TaskOptions options{.workers = workers};
  options.kind_factor.resize(run.kinds.size(), 1);
  options.kind_factor[plait::replay::find_kind(run, kind).value()] = factor;
  return seconds(predict_tasks(run, plait::replay::platform_of(run), options).value().total);
}

/// Gains, in percent of the time of the slow run, and errors of predicted times.
struct Measured {
  std::vector<double> gain;
  std::vector<double> predicted_gain;
  std::vector<double> error_faster;   ///< Of the fast run, predicted from the slow one.
  std::vector<double> error_slower;   ///< The reverse.
  std::vector<double> error_workers;  ///< Of the fast run, predicted from the slow one on the other number of workers.
};

void measure(bench::Report& report) {
  const std::array<std::string, 3> kinds{"forces", "order", "profile"};
  const int steps = report.is_full() ? 100 : 40;
  std::map<std::pair<std::string, std::uint32_t>, Measured> measured;
  for (int turn = 0; turn < (report.is_full() ? 15 : 5); ++turn) {
    std::map<std::pair<std::string, std::uint32_t>, TaskRun> runs;
    for (const std::uint32_t workers : {1U, 2U}) {
      for (const std::string& slow : {std::string{}, kinds[0], kinds[1], kinds[2]}) {
        runs[{slow, workers}] = recorded(slow, workers, steps);
      }
    }
    for (const std::uint32_t workers : {1U, 2U}) {
      const TaskRun& fast = runs[{"", workers}];
      for (const std::string& kind : kinds) {
        const TaskRun& slow = runs[{kind, workers}];
        Measured& one = measured[{kind, workers}];
        const double promised = predicted(slow, kind, 0.5, workers);
        one.gain.push_back(100 * (1 - seconds(fast.length) / seconds(slow.length)));
        one.predicted_gain.push_back(100 * (1 - promised / seconds(slow.length)));
        one.error_faster.push_back(100 * (promised / seconds(fast.length) - 1));
        one.error_slower.push_back(100 * (predicted(fast, kind, 2, workers) / seconds(slow.length) - 1));
        const double from_other = predicted(runs[{kind, 3 - workers}], kind, 0.5, workers);
        one.error_workers.push_back(100 * (from_other / seconds(fast.length) - 1));
      }
    }
  }
  const auto add = [&](const auto& key, const char* name, const std::vector<double>& values, bool is_error) {
    bench::Row row{.name = name,
                   .params = {{"kind", key.first}, {"workers", std::to_string(key.second)}},
                   .value = values,
                   .unit = "%"};
    if (is_error) {
      row.wanted = bench::at_most(error_percent_max);
    }
    report.add(row);
  };
  for (const auto& [key, one] : measured) {
    add(key, "gain if twice as fast, measured", one.gain, false);
    add(key, "gain if twice as fast, predicted", one.predicted_gain, false);
    const auto absolute = [](std::vector<double> values) {
      const double middle = bench::median(values);
      return std::vector<double>{std::abs(middle)};
    };
    add(key, "error of the time, twice as fast", absolute(one.error_faster), true);
    add(key, "error of the time, half as fast", absolute(one.error_slower), true);
    add(key, "error of the time, and workers from the other", absolute(one.error_workers), true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"planted",
                       "what a faster kind of task gains is predicted within 10 % of the time, on and off the critical "
                       "path",
                       1,
                       argc,
                       argv};
  try {
    measure(report);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_planted: {}\n", error.what());
    return 1;
  }
  report.note(
      "the slow run does the work of that kind twice; the last error is of a run on the other number of workers");
  report.finish();
}
