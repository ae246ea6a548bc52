// SPDX-License-Identifier: Apache-2.0
#include "support/mpi/run_on_ranks.hpp"

#include <cstdio>
#include <exception>

#include <mpi.h>

#include "support/agree.hpp"

namespace app {

int run_on_ranks(Program program, const std::function<void(plait::Runtime&)>& work) {
  std::vector<std::string> command{program.argv, program.argv + program.argc};
  plait::MpiSession session{program.argc, program.argv, true};
  try {
    plait::Options options = plait::Options::from_environment();
    options.command = std::move(command);
    plait::Runtime runtime{MPI_COMM_WORLD, options};
    try {
      work(runtime);
    } catch (const AgreedError& error) {
      if (runtime.self() == plait::Rank{0}) {
        std::fprintf(stderr, "%s: %s\n", program.name.c_str(), error.what());
      }
      return 1;
    }
    return 0;
  } catch (const std::exception& error) {
    session.fail(program.name.c_str(), error);
  }
}

int run_alone(const std::string& name, const std::function<void()>& work) {
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return 1;
  }
}

}  // namespace app
