// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/preload/mpi_call.hpp"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace plait::simulate {

void refuse(const char* function, const char* reason) {
  if (Simulation* const simulation = simulation_of_caller()) {
    fmt::print(
        stderr, "plait simulate: rank {} calls {}: {}\n", simulation->time().running().value(), function, reason);
  } else {
    fmt::print(stderr, "plait simulate: {}: {}\n", function, reason);
  }
  std::fflush(nullptr);
  std::_Exit(1);
}

MpiCall mpi_call(const char* function) {
  Simulation* const simulation = simulation_of_caller();
  if (simulation == nullptr) {
    refuse(function, "a thread that is none of a rank calls it");
  }
  return {*simulation, simulation->time().running()};
}

}  // namespace plait::simulate
