// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include <mpi.h>

#include "plait/base/error.hpp"

#include "support/hdf5_writer.hpp"

namespace app {

// Files that all ranks of a communicator write at once. Collective; the communicator must be quiet, as HDF5 uses it.

/// Does `work`, which throws `plait::Error`; returns the error of the lowest rank that has one, on all ranks.
[[nodiscard]] std::optional<plait::Error> attempt(MPI_Comm communicator, const std::function<void()>& work);

/// Makes `file` with what `write` puts into it: under another name, and renamed when it is complete, so that what stood
/// there stays whole until then. Every rank makes the same groups and data sets in the same order. Returns the file's
/// size in bytes. Error: on all ranks, names file, part and reason; nothing is left behind.
[[nodiscard]] plait::Result<std::uint64_t> write_hdf5_together(const std::filesystem::path& file,
                                                               MPI_Comm communicator,
                                                               const std::function<void(const Hdf5Writer&)>& write);

}  // namespace app
