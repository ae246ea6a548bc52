// SPDX-License-Identifier: Apache-2.0
// Where the program's main is called: once for each rank.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/base/error.hpp"
#include "plait/net/sim/preloaded_simulation.hpp"
#include "plait/simulate/preload/real.hpp"
#include "plait/simulate/preload/simulation.hpp"

namespace plait::simulate {
namespace {

using Main = int(int, char**, char**);

constexpr const char* settings_variable = "PLAIT_SIMULATION";

Main* program_main = nullptr;

/// A command line of a rank's own, which it may change.
class CommandLine {
 public:
  CommandLine(int count, char** words) : words_{words, words + count} {
    for (std::string& word : words_) {
      pointers_.push_back(word.data());
    }
    pointers_.push_back(nullptr);
  }

  [[nodiscard]] int count() const noexcept { return static_cast<int>(words_.size()); }
  [[nodiscard]] char** words() noexcept { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

/// A trace has a file for each rank.
void allow_many_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

/// The MPI library of the program, alone in this process: datatypes, operations and what else concerns no other rank
/// are its own.
class LocalMpi {
 public:
  LocalMpi() {
    setenv("OMPI_MCA_pml", "ob1", 0);  // no network is opened, and no process started
    setenv("OMPI_MCA_btl", "self", 0);
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    int level = MPI_THREAD_SINGLE;
    require(PMPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &level) == MPI_SUCCESS,
            "the MPI library of the program does not start in one process");
  }
  LocalMpi(const LocalMpi&) = delete;
  LocalMpi& operator=(const LocalMpi&) = delete;
  ~LocalMpi() { PMPI_Finalize(); }
};

int simulate(const char* settings_file, int count, char** words, char** environment) {
  allow_many_files();
  const LocalMpi local_mpi;
  const SimulationSettings settings = read_settings(settings_file).value();
  Simulation simulation{settings};
  if (simulation.faults() != nullptr && settings.is_progress_shown) {
    for (const std::string& sentence : simulation.faults()->sentences()) {
      fmt::print(stderr, "plait simulate: seed {}, {}\n", settings.faults->seed, sentence);
    }
  }
  const Carrying carrying{simulation};
  const int status = simulation.run([&](Rank) {
    CommandLine line{count, words};
    return program_main(line.count(), line.words(), environment);
  });
  simulation.write_report();
  return status;
}

int simulated_main(int count, char** words, char** environment) {
  const char* const settings_file = std::getenv(settings_variable);
  if (settings_file == nullptr) {
    return program_main(count, words, environment);
  }
  try {
    return simulate(settings_file, count, words, environment);
  } catch (const std::exception& error) {
    fmt::print(stderr, "plait simulate: {}\n", error.what());
  }
  std::fflush(nullptr);
  std::_Exit(1);  // ranks may hold what cannot be destroyed now
}

net::Driver* driver_of_caller() {
  Simulation* const simulation = simulation_of_caller();
  require(simulation != nullptr, "only the thread of a simulated rank creates its runtime");
  return simulation->network().driver(simulation->time().running()).release();
}

}  // namespace
}  // namespace plait::simulate

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): names of the system
extern "C" {

[[gnu::visibility("default")]] extern const plait::net::PreloadedSimulation plait_preloaded_simulation;
const plait::net::PreloadedSimulation plait_preloaded_simulation{
    .version = plait::net::PreloadedSimulation::version_here,
    .layout = plait::net::PreloadedSimulation::layout_here,
    .driver = plait::simulate::driver_of_caller};

/// What glibc calls main by.
[[gnu::visibility("default")]] int __libc_start_main(int (*main)(int, char**, char**),
                                                     int count,
                                                     char** words,
                                                     void (*init)(),
                                                     void (*fini)(),
                                                     void (*end_of_loader)(),
                                                     void* stack_end) {
  plait::simulate::program_main = main;
  using Start = int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  return plait::simulate::real_function<Start>("__libc_start_main")(
      plait::simulate::simulated_main, count, words, init, fini, end_of_loader, stack_end);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
