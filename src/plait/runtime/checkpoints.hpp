// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "plait/data/checkpoints/checkpoint.hpp"
#include "plait/runtime/runtime.hpp"

namespace plait {

/// Where a program keeps its checkpoints.
struct CheckpointOptions {
  std::filesystem::path folder;     ///< Made by the first write if it is not there.
  std::string name = "checkpoint";  ///< Files are folder/name-STEP.h5; several programs may share a folder.
  std::uint32_t keep = 2;           ///< How many are kept, at least 1; with 2 there is always a whole one.
};

/// Returns this rank's end of that folder, for HDF5 files ([how to use it](../../../docs/how-to/checkpoints.md)). It
/// must not outlive the runtime. Each rank writes its elements into the file by itself: for file systems that let
/// several processes write parts of one file at once, as local ones, Lustre and GPFS do, and NFS does not.
///
/// Collective. Link `plait::checkpoints`, which exists where plait was built with HDF5.
/// Throws: `Error` with `bad_argument` for options that make no sense.
[[nodiscard]] std::unique_ptr<data::CheckpointStore> make_checkpoints(Runtime& runtime,
                                                                      const CheckpointOptions& options);
#ifdef PLAIT_WITH_MPI
/// As above; HDF5 writes through MPI-IO if it has parallel I/O. `communicator` has the ranks of the runtime. It is
/// borrowed, and the caller does not use it meanwhile.
[[nodiscard]] std::unique_ptr<data::CheckpointStore> make_checkpoints(Runtime& runtime,
                                                                      const CheckpointOptions& options,
                                                                      MPI_Comm communicator);
#endif

}  // namespace plait
