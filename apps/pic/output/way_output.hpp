// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include <mpi.h>

#include "plait/base/error.hpp"

#include "pic/way.hpp"

namespace pic {

/// Writes all of a run's present step as one openPMD file into `folder`: fields and currents on the nodes of the
/// solver, charges, and the particles of every species, with the plasma's skin depth as a micrometre.
///
/// Collective over `communicator`, whose ranks are the run's. Returns the file's size in bytes. Error: as
/// `write_openpmd`. Cost: collects the charge of all particles once more, and copies what it writes.
template <int D>
[[nodiscard]] plait::Result<std::uint64_t> write_output(GridWay<D>& way,
                                                        const std::filesystem::path& folder,
                                                        MPI_Comm communicator);

}  // namespace pic
