// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "plait/base/error.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// The fields of a text file besides ids and positions.
struct TextColumns {
  Field<double> mass;
  Field<Vector> velocity;
};

/// Whether a file's name ends in .txt.
[[nodiscard]] bool is_text(const std::filesystem::path& file);

/// Appends the share of `rank` among `ranks` of the particles in `file`; returns the time.
///
/// The format is that of nbody-with-center and similar programs: a line with the time, a line with the number of
/// particles, then a line `id mass x y z vx vy vz` for each. Error: names file, line and fault, which may be a number
/// that is not finite, a mass that is not positive, or a duplicate id; `particles` is unchanged.
[[nodiscard]] Result<double> read_text(const std::filesystem::path& file,
                                       const TextColumns& columns,
                                       Particles& particles,
                                       std::uint32_t rank = 0,
                                       std::uint32_t ranks = 1);

/// Writes `particles` with all digits, so that reading returns the same bits. Writes to a temporary name and renames
/// the complete file. Returns its size in bytes.
[[nodiscard]] Result<std::uint64_t> write_text(const std::filesystem::path& file,
                                               double time,
                                               const TextColumns& columns,
                                               const Particles& particles);

}  // namespace plait::particles
