// SPDX-License-Identifier: Apache-2.0
// The MPI of simulated ranks: the functions that start and end a program, and a barrier. The messages of a program are
// those of its runtime. Any other function is that of the MPI behind, which was not initialised and ends the program
// with its own error.
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/simulate/preload/real.hpp"
#include "plait/simulate/preload/simulation.hpp"

namespace plait::simulate {
namespace {

/// The simulation of the caller. Ends the process when a thread that is no rank's calls MPI.
Simulation& simulation_for(const char* function) {
  Simulation* const simulation = simulation_of_caller();
  if (simulation == nullptr) {
    fmt::print(stderr, "plait simulate: {} is called by a thread that is none of a rank\n", function);
    std::fflush(nullptr);
    std::_Exit(1);
  }
  return *simulation;
}

void expect_world(Simulation& simulation, MPI_Comm communicator, const char* function) {
  if (communicator != MPI_COMM_WORLD) {
    fmt::print(stderr,
               "plait simulate: rank {} calls {} for a communicator that is not MPI_COMM_WORLD, the only one that "
               "simulated programs have\n",
               simulation.time().running().value(),
               function);
    std::fflush(nullptr);
    std::_Exit(1);
  }
}

int initialise(int required, int* provided) {
  MpiState& mpi = simulation_for("MPI_Init").mpi();
  mpi.is_initialized = true;
  mpi.thread_level = required;
  if (provided != nullptr) {
    *provided = required;
  }
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace plait::simulate

// NOLINTBEGIN(readability-identifier-naming): names of the MPI standard
extern "C" {

[[gnu::visibility("default")]] int MPI_Init(int* /*argc*/, char*** /*argv*/) {
  return plait::simulate::initialise(MPI_THREAD_SINGLE, nullptr);
}

[[gnu::visibility("default")]] int MPI_Init_thread(int* /*argc*/, char*** /*argv*/, int required, int* provided) {
  return plait::simulate::initialise(required, provided);
}

[[gnu::visibility("default")]] int MPI_Initialized(int* flag) {
  *flag = plait::simulate::simulation_for(__func__).mpi().is_initialized ? 1 : 0;
  return MPI_SUCCESS;
}

[[gnu::visibility("default")]] int MPI_Finalized(int* flag) {
  *flag = plait::simulate::simulation_for(__func__).mpi().is_finalized ? 1 : 0;
  return MPI_SUCCESS;
}

[[gnu::visibility("default")]] int MPI_Finalize() {
  plait::simulate::simulation_for(__func__).mpi().is_finalized = true;
  return MPI_SUCCESS;
}

[[gnu::visibility("default")]] int MPI_Query_thread(int* provided) {
  *provided = plait::simulate::simulation_for(__func__).mpi().thread_level;
  return MPI_SUCCESS;
}

[[gnu::visibility("default")]] int MPI_Comm_rank(MPI_Comm communicator, int* rank) {
  plait::simulate::Simulation& simulation = plait::simulate::simulation_for(__func__);
  plait::simulate::expect_world(simulation, communicator, __func__);
  *rank = static_cast<int>(simulation.time().running().value());
  return MPI_SUCCESS;
}

[[gnu::visibility("default")]] int MPI_Comm_size(MPI_Comm communicator, int* size) {
  plait::simulate::Simulation& simulation = plait::simulate::simulation_for(__func__);
  plait::simulate::expect_world(simulation, communicator, __func__);
  *size = static_cast<int>(simulation.rank_count());
  return MPI_SUCCESS;
}

[[gnu::visibility("default")]] int MPI_Barrier(MPI_Comm communicator) {
  plait::simulate::Simulation& simulation = plait::simulate::simulation_for(__func__);
  plait::simulate::expect_world(simulation, communicator, __func__);
  simulation.meet();
  return MPI_SUCCESS;
}

[[gnu::visibility("default")]] double MPI_Wtime() {
  const plait::nanoseconds now = plait::simulate::simulation_for(__func__).time().read_clock();
  return std::chrono::duration<double>(now).count();
}

[[gnu::visibility("default")]] int MPI_Abort(MPI_Comm /*communicator*/, int code) {
  plait::simulate::Simulation& simulation = plait::simulate::simulation_for(__func__);
  fmt::print(stderr, "plait simulate: rank {} called MPI_Abort with {}\n", simulation.time().running().value(), code);
  std::fflush(nullptr);
  std::_Exit(code != 0 ? code : 1);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
