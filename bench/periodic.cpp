// SPDX-License-Identifier: Apache-2.0
// Gravity in a periodic box, of uniform and of clustered particles: the time of a step, its parts, and the error of the
// forces, with monopoles and with quadrupoles. Beside it, the same tree without images in the same box, which sums over
// all distances; a rank of several workers beside as many ranks; and the kernels beside the peak of arithmetic.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "plait/particle_mesh/periodic_gravity.hpp"
#include "plait/particles.hpp"
#include "plait/plait.hpp"

#include "periodic/kernel_rates.hpp"
#include "support/peak.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using namespace plait::particles;

const Box box{{0, 0, 0}, {1, 1, 1}};
constexpr int clusters = 10;

struct Cube {
  Particles store;
  Field<double> mass = store.add_field<double>("mass");
  Field<Vector> acceleration = store.add_field<Vector>("acceleration");
  Field<double> potential = store.add_field<double>("potential");

  /// This rank's share of `count` particles; half of those that are clustered are in clusters.
  Cube(const plait::Runtime& runtime, std::size_t count, bool is_clustered) {
    std::mt19937_64 random{17};
    std::uniform_real_distribution<double> uniform{0, 1};
    std::normal_distribution<double> normal{0, 0.02};
    std::vector<Vector> centres;
    for (int i = 0; i < clusters; ++i) {
      centres.push_back({uniform(random), uniform(random), uniform(random)});
    }
    for (std::size_t i = 0; i < count; ++i) {
      Vector place{uniform(random), uniform(random), uniform(random)};
      if (is_clustered && i % 2 == 0) {
        place = centres[i / 2 % clusters] + Vector{normal(random), normal(random), normal(random)};
      }
      if (i % runtime.rank_count() == runtime.self().value()) {
        const std::size_t at = store.add(1);
        store.positions()[at] = Space{box, {true, true, true}}.wrap(place);
        store.ids()[at] = i;
        store[mass][at] = 1.0 / static_cast<double>(count);
      }
    }
  }
};

struct Settings {
  Order order = Order::quadrupole;
  double theta = LongRangeOptions{}.theta;
  double split = PeriodicGravityOptions{}.split;
  double cutoff = PeriodicGravityOptions{}.cutoff;
  plait::fft::Index mesh = 0;  ///< 0: an open box without a mesh.
};

struct Measured {
  std::vector<double> seconds;
  std::vector<Vector> forces;  ///< By id, on all ranks.
  StepTimes times;
};

Measured run(plait::Runtime& runtime, std::size_t count, bool is_clustered, int steps, const Settings& settings) {
  Cube cube{runtime, count, is_clustered};
  const bool is_open = settings.mesh == 0;
  SystemOptions space;
  if (!is_open) {
    space.space = {.root = box, .periodic = {true, true, true}};
  }
  System system{runtime.messages(), runtime.scheduler(), cube.store, space};
  const LongRangeOptions tree{.charge = cube.mass,
                              .acceleration = cube.acceleration,
                              .potential = cube.potential,
                              .theta = settings.theta,
                              .order = settings.order,
                              .precision = Precision::mixed,
                              .softening = 1e-4};
  if (is_open) {
    system.add_long_range(tree);
  } else {
    system.add(make_periodic_gravity(runtime.messages(),
                                     runtime.scheduler(),
                                     {.tree = tree,
                                      .box = box,
                                      .mesh = {settings.mesh, settings.mesh, settings.mesh},
                                      .split = settings.split,
                                      .cutoff = settings.cutoff}));
  }
  system.update();
  static_cast<void>(system.take_times());
  Measured measured;
  for (int step = 0; step < steps; ++step) {
    plait::barrier(runtime.messages());
    const bench::Stopwatch watch;
    system.step();
    plait::barrier(runtime.messages());
    measured.seconds.push_back(watch.seconds());
  }
  measured.times = system.take_times();
  struct Force {
    std::uint64_t id;
    Vector force;
  };
  std::vector<Force> forces;
  for (std::size_t i = 0; i < cube.store.size(); ++i) {
    forces.push_back({cube.store.ids()[i], cube.store[cube.acceleration][i]});
  }
  measured.forces.resize(count);
  for (const plait::Bytes& bytes : plait::all_gather(runtime.messages(), std::as_bytes(std::span{forces}))) {
    const auto* first = reinterpret_cast<const Force*>(bytes.data());
    std::for_each(first, first + bytes.size() / sizeof(Force), [&](const Force& force) {
      measured.forces[force.id] = force.force;
    });
  }
  return measured;
}

/// Root mean square of the differences over that of the forces.
double rms_error(const std::vector<Vector>& forces, const std::vector<Vector>& exact) {
  double square = 0;
  double size = 0;
  for (std::size_t i = 0; i < forces.size(); ++i) {
    const Vector difference = forces[i] - exact[i];
    square += dot(difference, difference);
    size += dot(exact[i], exact[i]);
  }
  return std::sqrt(square / size);
}

/// The mean of errors along the force, over that of squared forces.
double mean_error(const std::vector<Vector>& forces, const std::vector<Vector>& exact) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < forces.size(); ++i) {
    error += dot(forces[i] - exact[i], exact[i]);
    size += dot(exact[i], exact[i]);
  }
  return error / size;
}

/// Points along each axis for `count` particles; even.
plait::fft::Index mesh_of(std::size_t count) {
  return 2 * static_cast<plait::fft::Index>(std::lround(std::cbrt(static_cast<double>(count)) / 2));
}

constexpr double opening_factor = 1.25;  // of periodic boxes: open ones have the same cells at a smaller angle

struct Choice {
  Order order;
  double theta;
  int mesh_factor;  ///< Of `mesh_of`.
  bool is_default = false;
};
constexpr Choice choices[] = {
    {Order::monopole, 0.3 * opening_factor, 1},
    {Order::quadrupole, 0.5, 1},
    {Order::quadrupole, 0.5, 2, true},
    {Order::quadrupole, 0.8, 2},
};

void measure(bench::Report& report, plait::Runtime& runtime, std::size_t count, bool is_clustered) {
  const plait::fft::Index mesh = mesh_of(count);
  // Direct sums up to six lengths of a long split, on a mesh twice as fine: errors of 1e-5, as tests show beside Ewald
  // sums.
  const Measured exact =
      run(runtime, count, is_clustered, 1, {.theta = 0, .split = 2.5, .cutoff = 6, .mesh = 2 * mesh});
  const int steps = report.is_full() ? 9 : 5;
  for (const Choice& choice : choices) {
    const Measured open =
        run(runtime, count, is_clustered, steps, {.order = choice.order, .theta = choice.theta / opening_factor});
    const Measured periodic = run(runtime,
                                  count,
                                  is_clustered,
                                  steps,
                                  {.order = choice.order, .theta = choice.theta, .mesh = choice.mesh_factor * mesh});
    std::map<std::string, std::string> params{{"particles", std::to_string(count)},
                                              {"places", is_clustered ? "half in ten clusters" : "uniform"},
                                              {"ranks", std::to_string(runtime.rank_count())},
                                              {"workers", std::to_string(runtime.worker_count())},
                                              {"order", choice.order == Order::monopole ? "monopole" : "quadrupole"},
                                              {"mesh", std::to_string(choice.mesh_factor * mesh)},
                                              {"theta", fmt::format("{}", choice.theta)}};
    bench::Row row{"step", params, periodic.seconds, "s"};
    row.peer = "open box, the same tree";
    row.peer_value = bench::median(open.seconds);
    report.add(row);
    bench::Row error{"rms force error", params, rms_error(periodic.forces, exact.forces), ""};
    if (choice.is_default) {
      error.wanted = bench::at_most(1e-3);
    }
    report.add(error);
    report.add({"mean error along the force", params, mean_error(periodic.forces, exact.forces)});
    const double kernel = std::chrono::duration<double>(periodic.times[Phase::kernel]).count();
    bench::Row rate{
        "kernel: interactions/(s core)", params, static_cast<double>(periodic.times.interactions) / kernel, "1/s"};
    if (choice.is_default) {
      rate.wanted = bench::at_least(1e9);
    }
    report.add(rate);
    if (runtime.self() == plait::Rank{0}) {
      fmt::print("{}", times_table(std::span{&periodic.times, 1}, runtime.worker_count()));
    }
  }
}

/// A step of one rank with as many workers as there are ranks, beside all ranks. Other ranks sleep meanwhile.
void measure_workers(bench::Report& report, std::size_t count, const plait::Options& options) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Settings settings{.mesh = 2 * mesh_of(count)};
  const int steps = report.is_full() ? 21 : 11;
  std::vector<double> as_ranks;
  {
    plait::Runtime runtime{MPI_COMM_WORLD, options};
    as_ranks = run(runtime, count, false, steps, settings).seconds;
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    plait::Options many = options;
    many.worker_count *= static_cast<std::uint32_t>(ranks);
    plait::Runtime runtime{MPI_COMM_SELF, many};
    bench::Row row{"step of one rank",
                   {{"particles", std::to_string(count)}, {"workers", std::to_string(many.worker_count)}},
                   run(runtime, count, false, steps, settings).seconds,
                   "s"};
    row.peer = "as many ranks";
    row.peer_value = bench::median(as_ranks);
    row.wanted = bench::at_most_of_peer(1 / 0.85);
    report.add(row);
  }
  MPI_Request arrived = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &arrived);
  for (int is_done = 0; is_done == 0; MPI_Test(&arrived, &is_done, MPI_STATUS_IGNORE)) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

void measure_kernels(bench::Report& report) {
  const double peak = bench::fused_multiply_adds_a_second();
  for (const bench::KernelRate& kernel : bench::kernel_rates()) {
    bench::Row row{"interactions/(s core)", {{"kernel", kernel.name}}, kernel.rates, "1/s"};
    row.bound = fmt::format("FMA peak / {}", kernel.instructions);
    row.bound_value = peak / kernel.instructions;
    row.wanted = bench::at_least(0.6 * *row.bound_value, "0.6 x " + row.bound);
    report.add(row);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 100'000;
  bench::Report report{
      "periodic",
      "forces of all images of uniform and clustered particles have rms errors below 1e-3 at the default angle",
      bench::Place{.ranks = {2}},
      argc,
      argv,
      [&](CLI::App& app) { app.add_option("--particles", count, "How many.")->capture_default_str(); }};
  bool is_first = true;
  {
    plait::MpiSession session{argc, argv};
    plait::Options options = plait::Options::from_environment();
    options.trace_folder.clear();
    {
      plait::Runtime runtime{MPI_COMM_WORLD, options};
      measure(report, runtime, count, false);
      measure(report, runtime, count, true);
      is_first = runtime.self() == plait::Rank{0};
    }
    measure_workers(report, count, options);
    if (is_first) {
      measure_kernels(report);
    }
  }
  if (is_first) {
    report.finish();
  }
}
