// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <mpi.h>

#include "plait/fft/exchange.hpp"

namespace plait::fft::mpi {

struct VariantOptions {
  std::size_t chunk_bytes = 16384;  ///< The size of the chunks in which CoM transfers blocks.
};

/// The variants of the exchange that call MPI, named as in the all-to-all harness: MPI, MIB, MIN, MIT, PIB, PIN, CoM,
/// CrB, CrN, CsB, CsN and SHM. For `PlanOptions::more`.
///
/// `world` has the ranks of the plan's endpoint in the same order, and must outlive the exchanges. Destroy these before
/// MPI is finalised. Several plans may share variants. Creating an exchange is collective over `world`: all ranks
/// create it at the same time, each in its own group. Throws: `Error` with `network` and the reason, on all ranks, if a
/// variant does not work (SHM between nodes; PIB and PIN without persistent collectives; windows across nodes in some
/// versions of Open MPI).
///
/// Threads: one at a time. Below MPI_THREAD_MULTIPLE the endpoint makes no MPI calls during those of an exchange.
[[nodiscard]] std::vector<Variant> variants(MPI_Comm world, const VariantOptions& options = {});

}  // namespace plait::fft::mpi
