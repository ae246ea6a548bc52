// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "plait/data/checkpoint.hpp"
#include "plait/runtime/runtime.hpp"

namespace plait {

/// Where a program keeps its checkpoints.
struct CheckpointOptions {
  std::filesystem::path folder;     ///< Made by the first write if it is not there.
  std::string name = "checkpoint";  ///< Files are folder/name-STEP.h5; several programs may share a folder.
  std::uint32_t keep = 2;           ///< How many are kept, at least 1; with 2 there is always a whole one.
};

/// This rank's end of that folder, for HDF5 files ([how to use it](../../../docs/checkpoints.md)). Collective; must not
/// outlive the runtime. Each rank writes its elements into the file by itself: for file systems that let several
/// processes write parts of one file at once, as local ones, Lustre and GPFS do, and NFS does not.
///
/// Throws: `Error` with `bad_argument` when plait was built without HDF5 or the options make no sense.
[[nodiscard]] std::unique_ptr<data::CheckpointStore> make_checkpoints(Runtime& runtime,
                                                                      const CheckpointOptions& options);
#ifdef PLAIT_WITH_MPI
/// As above, written by HDF5 through MPI-IO, over the ranks of the runtime; as above where HDF5 has no parallel I/O.
/// `communicator` is borrowed, and not to be used by others meanwhile.
[[nodiscard]] std::unique_ptr<data::CheckpointStore> make_checkpoints(Runtime& runtime,
                                                                      const CheckpointOptions& options,
                                                                      MPI_Comm communicator);
#endif

}  // namespace plait
