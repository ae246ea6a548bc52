// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <mpi.h>

#include "plait/fft/exchange.hpp"

namespace alltoall {

/// The variants in coarray Fortran, by OpenCoarrays: CoM-F and CrB-F, which do what CoM and CrB do by MPI. Blocks of
/// one exchange have one size, a multiple of 8 bytes. An image is a rank of `world`, which is MPI_COMM_WORLD.
///
/// Images start with the first exchange, and end with the last exchange and variant, before MPI is finalised. Creating
/// an exchange is collective over `world`, each rank in its own group. Throws: `plait::Error` with `network` on all
/// ranks if MPI has no windows over memory of the caller, which coarrays are. Threads: as those of
/// `fft::mpi::variants`.
[[nodiscard]] std::vector<plait::fft::Variant> coarray_variants(MPI_Comm world, std::size_t chunk_bytes);

}  // namespace alltoall
