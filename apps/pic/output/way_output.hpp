// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include <mpi.h>

#include "plait/base/error.hpp"

#include "pic/way.hpp"

namespace pic {

/// Writes the present step of a run as one openPMD file into `folder`: fields, currents and charges on the nodes of the
/// solver, and all particles. The plasma's skin depth is one micrometre.
///
/// Collective over `communicator`, whose ranks are the run's. Returns the file's size in bytes. Error: as
/// `write_openpmd`. Cost: deposits the charge of all particles again, and copies all data.
template <int D>
[[nodiscard]] plait::Result<std::uint64_t> write_output(GridWay<D>& way,
                                                        const std::filesystem::path& folder,
                                                        MPI_Comm communicator);

}  // namespace pic
