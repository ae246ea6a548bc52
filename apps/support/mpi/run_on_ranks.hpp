// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plait/plait.hpp"

namespace app {

/// A program's name, for people, and its command line, for MPI and the trace.
struct Program {
  std::string name;
  int argc = 0;
  char** argv = nullptr;
};

/// Initialises MPI for calls of several threads, as HDF5 calls it too, and calls `work`, which returns the exit code.
/// Rank 0 reports an `AgreedError`; other errors are reported by the rank that met them, which ends the job.
int run_with_mpi(Program program, const std::function<int()>& work);

/// The same with a runtime on all ranks, whose options come from the environment.
int run_on_ranks(const Program& program, const std::function<void(plait::Runtime&)>& work);

/// Calls `work` in this process alone; returns the exit code. Reports errors as above.
int run_alone(const std::string& name, const std::function<void()>& work);

}  // namespace app
