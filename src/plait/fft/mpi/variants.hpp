// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <mpi.h>

#include "plait/fft/exchange.hpp"

namespace plait::fft::mpi {

struct VariantOptions {
  std::size_t chunk_bytes = 16384;  ///< Of CoM: how much of a block passes through its window at once.
};

/// The variants of the exchange that call MPI, by the names that they have in the all-to-all harness: MPI, MIB, MIN,
/// MIT, PIB, PIN, CoM, CrB, CrN, CsB, CsN and SHM. For `PlanOptions::more`.
///
/// `world` has the ranks of the plan's endpoint in the same order, and must live as long as what is made with these,
/// which must end before MPI does. Several plans may share them. Making an exchange is collective over `world`: all
/// ranks do so at the same time, each in its own group. Where one cannot work, making it throws an `Error` with
/// `network` that says why (SHM between nodes; PIB and PIN without persistent collectives; windows across nodes in some
/// versions of Open MPI), on all ranks.
///
/// Threads: one at a time makes and uses them. Below MPI_THREAD_MULTIPLE they keep the endpoint out of MPI while they
/// call it themselves.
[[nodiscard]] std::vector<Variant> variants(MPI_Comm world, const VariantOptions& options = {});

}  // namespace plait::fft::mpi
