// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include <mpi.h>

#include "plait/simulate/preload/collectives.hpp"
#include "plait/simulate/preload/simulation.hpp"

namespace plait::simulate {

/// A call of MPI by a simulated rank.
struct MpiCall {
  Simulation& simulation;
  Rank self;

  [[nodiscard]] Messages& messages() const { return simulation.messages(); }
  [[nodiscard]] SimulatedCommunicators& communicators() const { return simulation.communicators(); }
  [[nodiscard]] SimulatedCommunicator& communicator(MPI_Comm handle) const {
    return communicators().find(handle, self);
  }
  [[nodiscard]] SimulatedCollective collective(MPI_Comm handle) const {
    return {messages(), communicator(handle), self};
  }
};

/// Ends the process with a sentence that names the caller and `function`.
[[noreturn]] void refuse(const char* function, const char* reason);

/// The call of the rank that is running. Ends the process when a thread that is no rank's calls MPI.
[[nodiscard]] MpiCall mpi_call(const char* function);

/// Runs `body` as `function`, and ends the process with the reason when it throws.
template <class Body>
int run_call(const char* function, const Body& body) {
  const MpiCall call = mpi_call(function);
  try {
    body(call);
    return MPI_SUCCESS;
  } catch (const std::exception& error) {
    refuse(function, error.what());
  }
}

}  // namespace plait::simulate
