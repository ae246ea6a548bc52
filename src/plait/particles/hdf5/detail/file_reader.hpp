// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "plait/files/hdf5/reader.hpp"
#include "plait/particles/hdf5/snapshot.hpp"

namespace plait::particles::hdf5::detail {

// Throw: `Error` that names the file and what was read.

/// All but the particles.
[[nodiscard]] SnapshotInfo read_info(const files::Hdf5Reader& in, const SnapshotLayout& layout);

/// Appends the shares; `particles` may have grown when it throws.
void read_particles(const files::Hdf5Reader& in,
                    const SnapshotInfo& info,
                    const SnapshotLayout& layout,
                    const std::array<SnapshotSlab, types_max>& shares,
                    Particles& particles);

}  // namespace plait::particles::hdf5::detail
