// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <mpi.h>

#include "plait/data/checkpoints/hdf5/slab_writer.hpp"

namespace plait::data::hdf5 {

/// All ranks write collectively through HDF5 and MPI-IO, in rounds of at most 256 MiB a rank: for every file system
/// that MPI knows, and where ranks' parts are better gathered on few writers.
///
/// `communicator` is borrowed and must live as long; its ranks are those of the group, in their order. No rank makes
/// progress on plait's network while HDF5 writes, so all that was sent is sent before. Returns nothing when this HDF5
/// has no parallel I/O.
[[nodiscard]] std::unique_ptr<SlabWriter> make_mpi_slab_writer(MPI_Comm communicator);

}  // namespace plait::data::hdf5
