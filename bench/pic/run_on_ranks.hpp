// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include <mpi.h>

#include "plait/net/mpi/session.hpp"
#include "plait/runtime/runtime.hpp"

#include "pic/mpi/mpi_ranks.hpp"
#include "support/report.hpp"

namespace bench {

/// The main function of a benchmark on the ranks of MPI: measures on all of them, rank 0 reports.
/// `measure(Report&, plait::Runtime&, pic::Ranks&)`.
template <class Measure>
void run_on_ranks(Report& report, int argc, char** argv, const Measure& measure) {
  plait::net::MpiSession session{argc, argv, true};
  try {
    plait::Runtime runtime{MPI_COMM_WORLD};
    pic::MpiRanks ranks{MPI_COMM_WORLD};
    measure(report, runtime, ranks);
    if (ranks.self() == 0) {
      report.finish();
    }
  } catch (const std::exception& error) {
    session.fail(("bench " + report.name()).c_str(), error);
  }
}

}  // namespace bench
