// SPDX-License-Identifier: Apache-2.0
// A step of one N-body program in C++, C and Fortran, each with a kernel of its own in its language, compiled with the
// same flags: what the borders between languages cost. Beside them, plait's own kernel, and the forces of pytreegrav.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

#include "nbody/pull.hpp"
#include "nbody/steps.h"
#include "sphere/pytreegrav.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using namespace plait::particles;

constexpr double border_factor_max = 1.05;  // of a step in C++

void add_sphere(Particles& store, Field<double> mass, int count) {
  store.add(static_cast<std::size_t>(count));
  std::uint32_t random = 1;
  const auto next = [&random] {
    random = random * 1664525 + 1013904223;
    return 6 * (random / 4294967296.0) - 3;
  };
  for (std::size_t i = 0; i < store.size(); ++i) {
    Vector& place = store.positions()[i];
    do {
      place.x = next();
      place.y = next();
      place.z = next();
    } while (dot(place, place) >= 9);
    store.ids()[i] = i;
    store[mass][i] = 1.0 / count;
  }
}

/// The program of steps.h, with a given kernel; empty: plait's own.
double cpp_seconds(MPI_Comm communicator, int count, int steps, const LongRangeKernel& kernel) {
  plait::Options options = plait::Options::from_environment();
  options.trace_folder.clear();
  plait::Runtime runtime{communicator, options};
  Particles store;
  const auto mass = store.add_field<double>("mass");
  const auto velocity = store.add_field<Vector>("velocity");
  const auto acceleration = store.add_field<Vector>("acceleration");
  const auto potential = store.add_field<double>("potential");
  if (runtime.self() == plait::Rank{0}) {
    add_sphere(store, mass, count);
  }
  System system{runtime.messages(), runtime.scheduler(), store};
  system.add_long_range({.charge = mass,
                         .acceleration = acceleration,
                         .potential = potential,
                         .order = Order::monopole,
                         .precision = Precision::mixed,
                         .softening = 1.0 / 32,
                         .kernel = kernel});
  add_leapfrog(system, {.velocity = velocity, .acceleration = acceleration, .time_step = 1.0 / 128});
  system.update();
  plait::barrier(runtime.messages());
  const bench::Stopwatch watch;
  for (int step = 0; step < steps; ++step) {
    system.step();
  }
  plait::barrier(runtime.messages());
  return watch.seconds() / steps;
}

struct Program {
  std::string name;
  std::function<double(int count, int steps)> seconds;
};

std::vector<Program> programs() {
  std::vector<Program> all{
      {"step: kernel in C++",
       [](int count, int steps) { return cpp_seconds(MPI_COMM_WORLD, count, steps, bench::nbody_pull); }},
      {"step: kernel in C", [](int count, int steps) { return nbody_c_seconds(MPI_COMM_WORLD, count, steps); }}};
#ifdef BENCH_NBODY_FORTRAN
  all.push_back({"step: kernel in Fortran", [](int count, int steps) {
                   return nbody_fortran_seconds(MPI_Comm_c2f(MPI_COMM_WORLD), count, steps);
                 }});
#endif
  all.push_back(
      {"step: gravity of plait", [](int count, int steps) { return cpp_seconds(MPI_COMM_WORLD, count, steps, {}); }});
  return all;
}

/// The maximum over all ranks. Negative if any rank has failed.
double of_all_ranks(double seconds) {
  double least = seconds;
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return least < 0 ? least : seconds;
}

/// In turns, so that a slow moment of the machine slows all programs. The first turn warms up.
void measure(bench::Report& report, int count, int ranks) {
  const std::vector<Program> all = programs();
  const int rounds = report.is_full() ? 11 : 5;
  std::vector<std::vector<double>> seconds(all.size());
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double taken = of_all_ranks(all[i].seconds(count, 4));
      if (taken < 0) {
        report.note(fmt::format("{}: failed", all[i].name));
      } else if (round > 0) {
        seconds[i].push_back(taken);
      }
    }
  }
  const bench::Spread reference{seconds[0]};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (seconds[i].empty()) {
      continue;
    }
    bench::Row row{all[i].name,
                   {{"particles", std::to_string(count)},
                    {"ranks", std::to_string(ranks)},
                    {"theta", "0.5"},
                    {"order", "monopole"}},
                   seconds[i],
                   "s"};
    if (i > 0) {
      row.peer = "kernel in C++";
      row.peer_value = reference.median;
      row.wanted = bench::at_most_of_peer(border_factor_max);
    }
    report.add(row);
  }
}

void measure_pytreegrav(bench::Report& report, std::size_t count, unsigned threads) {
  if (const bench::Pytreegrav found = bench::run_pytreegrav(report, count, threads); !found.seconds.empty()) {
    report.add({"pytreegrav: forces",
                {{"particles", std::to_string(count)}, {"threads", std::to_string(threads)}, {"theta", "0.5"}},
                found.seconds,
                "s"});
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"nbody",
                       "a step of a particle code in C or Fortran takes at most 5 % longer than of the same in C++",
                       2,
                       argc,
                       argv};
  int rank = 0;
  int ranks = 1;
  const int count = report.is_full() ? 1'000'000 : 100'000;
  {
    plait::MpiSession session{argc, argv};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    measure(report, count, ranks);
  }
  if (rank == 0) {
    report.note("the samples of FDPS are not here to run: its sources are in no package registry");
    measure_pytreegrav(report, static_cast<std::size_t>(count), static_cast<unsigned>(ranks));
    report.finish();
  }
}
