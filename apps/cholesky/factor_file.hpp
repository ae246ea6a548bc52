// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "plait/plait.hpp"

#include "cholesky/layout.hpp"

namespace cholesky {

/// Writes the factors in the tiles of all ranks to an HDF5 file, as one square dataset, written by rank 0 tile by
/// tile: "L" with zeros above its diagonal for `Part::lower`, "LU" with L below the diagonal and U on and above it for
/// `Part::all`. It bears the name `file` only when it is complete.
///
/// Collective. When it cannot be written rank 0 throws `plait::Error` with `io`, an older file stays, and the other
/// ranks wait in vain: rank 0 must end the run.
void write_factors(plait::Runtime& runtime,
                   const Layout& layout,
                   Part part,
                   std::span<const PlacedTile> tiles,
                   const std::string& file);

/// Expects such a file can be made; to be asked before the work. Throws: `plait::Error` with `io`.
void expect_writable(const std::string& file);

}  // namespace cholesky
