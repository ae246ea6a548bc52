// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>

#include <mpi.h>

#include "ring/snapshot.hpp"

namespace ring {

/// `write_snapshot` by all ranks of `communicator` into one file: each its slab, in the order of ranks.
///
/// Collective; `state.rank_bodies` is set here, the rest of `state` must be the same everywhere. All ranks return the
/// same: success or the error of the lowest rank that met one. Needs an HDF5 with parallel I/O and says so when it is
/// none. Blocks: to be called when the network is quiet. The communicator must be the caller's alone meanwhile.
[[nodiscard]] plait::Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                                          RunState state,
                                                          std::span<const Body> bodies,
                                                          MPI_Comm communicator);

}  // namespace ring
