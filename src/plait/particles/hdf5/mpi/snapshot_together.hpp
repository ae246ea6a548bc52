// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "plait/particles/hdf5/snapshot.hpp"

namespace plait::particles::hdf5 {

/// `write_snapshot` by all ranks of `communicator` into one file: each its slabs, in the order of ranks.
///
/// Collective; header and layout must be the same everywhere, and the communicator quiet, as HDF5 uses it. All ranks
/// return the same: the size, or the error of the lowest rank that has one.
/// An HDF5 without parallel I/O lets the ranks write in turn.
[[nodiscard]] Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                                   const SnapshotHeader& header,
                                                   const SnapshotLayout& layout,
                                                   const Particles& particles,
                                                   MPI_Comm communicator);

}  // namespace plait::particles::hdf5
