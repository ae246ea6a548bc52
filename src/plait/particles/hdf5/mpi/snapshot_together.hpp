// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "plait/particles/hdf5/snapshot.hpp"

namespace plait::particles::hdf5 {

/// Writes a snapshot by all ranks of `communicator` into one file, with particles in the order of ranks.
///
/// Collective; all ranks pass equal headers and layouts. No other operation may use the communicator meanwhile. Ranks
/// write in turn if HDF5 has no parallel I/O. All ranks return the same: the size, or the error of the lowest rank with
/// one.
[[nodiscard]] Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                                   const SnapshotHeader& header,
                                                   const SnapshotLayout& layout,
                                                   const Particles& particles,
                                                   MPI_Comm communicator);

}  // namespace plait::particles::hdf5
