// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "plait/plait.hpp"

#include "cholesky/layout.hpp"

namespace cholesky {

/// Writes the factors of all ranks to an HDF5 file as one square dataset: "L" with zeros above its diagonal for
/// `Part::lower`, "LU" with L below the diagonal and U on and above it for `Part::all`. Rank 0 writes tile by tile, and
/// renames the file to `file` when it is complete.
///
/// Collective. Throws: on rank 0 `plait::Error` with `io` when the file cannot be written; an older file stays. The
/// other ranks then wait without end: rank 0 must end the run.
void write_factors(plait::Runtime& runtime,
                   const Layout& layout,
                   Part part,
                   std::span<const PlacedTile> tiles,
                   const std::string& file);

/// Checks, before the factorisation, that `file` can be written. Throws: `plait::Error` with `io`.
void expect_writable(const std::string& file);

}  // namespace cholesky
