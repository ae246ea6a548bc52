// SPDX-License-Identifier: Apache-2.0
#include "support/mpi/run_on_ranks.hpp"

#include <cstdio>
#include <exception>

#include <fmt/format.h>
#include <mpi.h>

#include "support/agree.hpp"

namespace app {

int run_with_mpi(Program program, const std::function<int()>& work) {
  plait::MpiSession session{program.argc, program.argv, program.calls_mpi};
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    try {
      return work();
    } catch (const AgreedError& error) {
      if (rank == 0) {
        std::fprintf(stderr, "%s: %s\n", program.name.c_str(), error.what());
      }
      return 1;
    }
  } catch (const std::exception& error) {
    session.fail(fmt::format("{}: rank {}", program.name, rank).c_str(), error);
  }
}

int run_on_ranks(const Program& program, const std::function<void(plait::Runtime&)>& work) {
  return run_with_mpi(program, [&] {
    plait::Options options = plait::Options::from_environment();
    options.command.assign(program.argv, program.argv + program.argc);
    plait::Runtime runtime{MPI_COMM_WORLD, options};
    work(runtime);
    return 0;
  });
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
