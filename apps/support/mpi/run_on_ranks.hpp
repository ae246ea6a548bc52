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

/// Does `work` on all ranks of a runtime over MPI, with options from the environment; returns the exit code. Trouble
/// that all ranks met alike (`AgreedError`) is told by rank 0, other trouble by the rank that met it, which ends the
/// job. MPI is opened for calls of several threads, as HDF5 calls it too.
int run_on_ranks(Program program, const std::function<void(plait::Runtime&)>& work);

/// Does `work` in this process alone; returns the exit code. Trouble is told as above.
int run_alone(const std::string& name, const std::function<void()>& work);

}  // namespace app
