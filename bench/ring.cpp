// SPDX-License-Identifier: Apache-2.0
// Seconds a step of the planetary ring, and what tracing adds: traced and untraced blocks of steps alternate in one
// run.
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

#include "ring/simulation.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using plait::particles::StepTimes;
using ring::Simulation;

/// A ring and its bodies.
struct Ring {
  Ring(plait::Runtime& runtime, std::uint32_t count) {
    ring::RingShape shape;
    shape.azimuthal = count / shape.radial;
    ring::make_ring(shape, bodies, runtime.self().value(), runtime.rank_count());
    simulation.emplace(runtime, bodies, ring::RunState{}, ring::Sharing{});
  }
  ring::Bodies bodies;
  std::optional<Simulation> simulation;
};

/// Seconds a step on the slowest rank, over one block.
double seconds_a_step(plait::Runtime& runtime, Simulation& simulation, int steps) {
  plait::barrier(runtime.messages());
  const bench::Stopwatch watch;
  for (int step = 0; step < steps; ++step) {
    simulation.step();
  }
  plait::barrier(runtime.messages());
  return watch.seconds() / steps;
}

/// Costs of one block, summed over ranks.
struct Costs {
  double interactions = 0;
  double idle = 0;
  double worked = 0;
};

Costs take_costs(plait::Runtime& runtime, Simulation& simulation) {
  Costs costs;
  for (const StepTimes& times : plait::all_gather_values(runtime.messages(), simulation.take_times())) {
    costs.interactions += static_cast<double>(times.interactions) / static_cast<double>(times.steps);
    costs.idle += std::chrono::duration<double>(times.idle).count();
    costs.worked += std::chrono::duration<double>(times.wall).count() * runtime.worker_count();
  }
  return costs;
}

struct Size {
  std::uint32_t bodies;
  int steps;
  int blocks;
  double reference_seconds;  ///< Of nbody-with-center on FDPS 7.1, 2 cores, quadrupole: the least measured elsewhere.
};

void measure(bench::Report& report, plait::Runtime& untraced, plait::Runtime& traced, const Size& size) {
  Ring without{untraced, size.bodies};
  Ring with{traced, size.bodies};
  std::vector<double> seconds;
  std::vector<double> rates;
  std::vector<double> idle;
  std::vector<double> tracing;
  for (int block = 0; block <= size.blocks; ++block) {
    const double plain = seconds_a_step(untraced, *without.simulation, size.steps);
    const Costs costs = take_costs(untraced, *without.simulation);
    const double recorded = seconds_a_step(traced, *with.simulation, size.steps);
    (void)take_costs(traced, *with.simulation);
    if (block == 0) {
      continue;  // warms up
    }
    const double cores = static_cast<double>(untraced.rank_count()) * untraced.worker_count();
    seconds.push_back(plain);
    rates.push_back(costs.interactions / plain / cores);
    idle.push_back(100 * costs.idle / costs.worked);
    tracing.push_back(100 * (recorded / plain - 1));
  }
  const std::map<std::string, std::string> params{{"bodies", std::to_string(size.bodies)},
                                                  {"ranks", std::to_string(untraced.rank_count())},
                                                  {"workers", std::to_string(untraced.worker_count())}};
  report.add({"step", params, seconds, "s", "FDPS 7.1 (quoted, did not run here)", size.reference_seconds});
  report.add({"interactions/(s core)", params, rates, "1/s"});
  report.add({"idle", params, idle, "%"});
  report.add({"tracing adds", params, tracing, "%"});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "ring",
      "a step of the ring is faster than that of nbody-with-center on FDPS; tracing costs it below 2 %",
      2,
      argc,
      argv};
  plait::MpiSession session{argc, argv};
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("plait-bench-ring-{}", getppid());
  {
    plait::Options options = plait::Options::from_environment();
    options.trace_folder.clear();
    plait::Runtime untraced{MPI_COMM_WORLD, options};
    options.trace_folder = folder;
    plait::Runtime traced{MPI_COMM_WORLD, options};
    measure(report, untraced, traced, {100'000, 10, report.is_full() ? 41 : 25, 0.104});
    if (report.is_full()) {
      measure(report, untraced, traced, {1'000'000, 2, 9, 0.89});
    }
    report.finish();
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}
