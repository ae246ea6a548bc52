// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <mpi.h>

#include "plait/fft/exchange.hpp"

namespace plait::fft::mpi {

struct VariantOptions {
  std::size_t chunk_bytes = 16384;  ///< Of CoM: the part of a block in its window at once.
};

/// The variants of the exchange that call MPI, with their names in the all-to-all harness: MPI, MIB, MIN, MIT, PIB,
/// PIN, CoM, CrB, CrN, CsB, CsN and SHM. For `PlanOptions::more`.
///
/// `world` has the ranks of the plan's endpoint in the same order, and must outlive the exchanges, which must be
/// destroyed before MPI is finalised. Several plans may share variants. Creating an exchange is collective over
/// `world`: all ranks do so at the same time, each in its own group. If a variant cannot work, this throws an `Error`
/// with `network` on all ranks, with the reason (SHM between nodes; PIB and PIN without persistent collectives; windows
/// across nodes in some versions of Open MPI).
///
/// Threads: one at a time creates and uses them. Below MPI_THREAD_MULTIPLE the endpoint makes no MPI calls during
/// theirs.
[[nodiscard]] std::vector<Variant> variants(MPI_Comm world, const VariantOptions& options = {});

}  // namespace plait::fft::mpi
