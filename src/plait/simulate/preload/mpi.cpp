// SPDX-License-Identifier: Apache-2.0
// The MPI of simulated ranks: what starts and ends a program. SimulatedCommunicators, messages and collective
// operations are in the files beside this one; what concerns one process alone, as datatypes and operations, is of the
// library behind.
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "plait/simulate/preload/mpi_call.hpp"

namespace plait::simulate {
namespace {

int initialise(const char* function, int required, int* provided) {
  MpiState& mpi = mpi_call(function).simulation.mpi();
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
  return plait::simulate::initialise(__func__, MPI_THREAD_SINGLE, nullptr);
}

[[gnu::visibility("default")]] int MPI_Init_thread(int* /*argc*/, char*** /*argv*/, int required, int* provided) {
  return plait::simulate::initialise(__func__, required, provided);
}

[[gnu::visibility("default")]] int MPI_Initialized(int* flag) {
  plait::simulate::Simulation* const simulation = plait::simulate::simulation_of_caller();
  if (simulation == nullptr) {
    return PMPI_Initialized(flag);  // a library that ends with the process
  }
  *flag = simulation->mpi().is_initialized ? 1 : 0;
  return MPI_SUCCESS;
}

[[gnu::visibility("default")]] int MPI_Finalized(int* flag) {
  plait::simulate::Simulation* const simulation = plait::simulate::simulation_of_caller();
  if (simulation == nullptr) {
    return PMPI_Finalized(flag);
  }
  *flag = simulation->mpi().is_finalized ? 1 : 0;
  return MPI_SUCCESS;
}

[[gnu::visibility("default")]] int MPI_Finalize() {
  plait::simulate::mpi_call(__func__).simulation.mpi().is_finalized = true;
  return MPI_SUCCESS;
}

[[gnu::visibility("default")]] int MPI_Query_thread(int* provided) {
  *provided = plait::simulate::mpi_call(__func__).simulation.mpi().thread_level;
  return MPI_SUCCESS;
}

[[gnu::visibility("default")]] double MPI_Wtime() {
  const plait::nanoseconds now = plait::simulate::mpi_call(__func__).simulation.time().read_clock();
  return std::chrono::duration<double>(now).count();
}

[[gnu::visibility("default")]] int MPI_Abort(MPI_Comm /*communicator*/, int code) {
  plait::simulate::Simulation& simulation = plait::simulate::mpi_call(__func__).simulation;
  fmt::print(stderr, "plait simulate: rank {} called MPI_Abort with {}\n", simulation.time().running().value(), code);
  std::fflush(nullptr);
  std::_Exit(code != 0 ? code : 1);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
