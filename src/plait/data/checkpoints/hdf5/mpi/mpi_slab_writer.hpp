// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <mpi.h>

#include "plait/data/checkpoints/hdf5/slab_writer.hpp"

namespace plait::data::hdf5 {

/// Creates a writer that calls HDF5 with MPI-IO, collectively, in rounds of at most 256 MiB a rank: for all file
/// systems that MPI supports, and where a few ranks should write for all.
///
/// `communicator` has the ranks of the group in their order; it is borrowed while the writer exists. All messages are
/// sent before HDF5 starts, as no rank makes progress then. Returns null if this HDF5 has no parallel I/O.
[[nodiscard]] std::unique_ptr<SlabWriter> make_mpi_slab_writer(MPI_Comm communicator);

}  // namespace plait::data::hdf5
