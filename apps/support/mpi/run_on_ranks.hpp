// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plait/plait.hpp"

namespace app {

/// A program's name, for messages, and its command line, for MPI and the trace.
struct Program {
  std::string name;
  int argc = 0;
  char** argv = nullptr;
  bool calls_mpi = true;  ///< The program calls MPI beside the runtime, also through HDF5.
};

/// Initialises MPI and calls `work`, which returns the exit code. Rank 0 reports an `AgreedError`. Any other error is
/// reported by the rank where it occurred, which ends the job.
int run_with_mpi(Program program, const std::function<int()>& work);

/// Runs `work` with a runtime on all ranks, whose options come from the environment. Reports errors as `run_with_mpi`.
int run_on_ranks(const Program& program, const std::function<void(plait::Runtime&)>& work);

/// Calls `work` in this process alone, without MPI; returns the exit code. Prints the error if there is one.
int run_alone(const std::string& name, const std::function<void()>& work);

}  // namespace app
