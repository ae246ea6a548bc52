// SPDX-License-Identifier: Apache-2.0
// How a program with an MpiSession ends. Each way is a run of its own: `mpi_session_test WAY`.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include <mpi.h>

#include "plait/base/error.hpp"
#include "plait/net/mpi/launch.hpp"
#include "plait/net/mpi/mpi_driver.hpp"
#include "plait/net/mpi/session.hpp"

namespace {

using plait::net::MpiSession;

/// Waits for a message that no rank sends, as the others do when one rank fails.
void wait_for_ever(plait::net::Driver& driver) {
  std::array<plait::net::Arrival, 1> arrivals;
  while (driver.poll(arrivals, {}).arrivals == 0) {
    std::this_thread::yield();
  }
}

int clean_end(int argc, char** argv) {
  {
    const MpiSession session{argc, argv};
    const MpiSession inner{argc, argv};  // finds MPI initialised, and leaves it so
    const auto driver = plait::net::make_mpi_driver(MPI_COMM_WORLD);
  }
  if (std::getenv("UCX_RNDV_THRESH") != nullptr && plait::net::is_launched_on_one_host()) {
    return 1;  // messages between hosts are the only ones that need it
  }
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  try {
    const MpiSession again{argc, argv};
  } catch (const plait::Error&) {
    return is_finalized != 0 ? 0 : 1;
  }
  return 1;
}

/// A driver that outlives MPI: a mistake, but not one that may crash.
int late_driver(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto driver = plait::net::make_mpi_driver(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

int exception(int argc, char** argv) {
  try {
    const MpiSession session{argc, argv};
    const auto driver = plait::net::make_mpi_driver(MPI_COMM_WORLD);
    if (driver->self() == plait::Rank{0}) {
      throw std::runtime_error{"rank 0 has had enough"};
    }
    wait_for_ever(*driver);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
  return 0;
}

int abort_all(int argc, char** argv) {
  const MpiSession session{argc, argv};
  const auto driver = plait::net::make_mpi_driver(MPI_COMM_WORLD);
  if (driver->self() == plait::Rank{0}) {
    session.abort(4);
  }
  wait_for_ever(*driver);
  return 0;
}

/// Rank 0 is only notified of the error, and before the rank that fails has reported it.
int fail(int argc, char** argv) {
  const MpiSession session{argc, argv};
  const auto driver = plait::net::make_mpi_driver(MPI_COMM_WORLD);
  if (driver->self() == plait::Rank{0}) {
    session.fail("heard", plait::Error{plait::ErrorCode::peer_failed, "of it"});
  }
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds{300}) {
    std::this_thread::yield();
  }
  session.fail("met", std::runtime_error{"it"});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "clean_end") {
    return clean_end(argc, argv);
  }
  if (way == "late_driver") {
    return late_driver(argc, argv);
  }
  if (way == "exception") {
    return exception(argc, argv);
  }
  if (way == "fail") {
    return fail(argc, argv);
  }
  if (way == "abort") {
    return abort_all(argc, argv);
  }
  std::fprintf(stderr, "usage: mpi_session_test clean_end | late_driver | exception | abort\n");
  return 2;
}
