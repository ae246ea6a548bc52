// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "plait/base/error.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// The columns of a text file beside ids and positions.
struct TextColumns {
  Field<double> mass;
  Field<Vector> velocity;
};

/// Whether a file's name ends in .txt.
[[nodiscard]] bool is_text(const std::filesystem::path& file);

/// Appends those of the particles in `file` that are the equal share of `rank` among `ranks`; returns the time.
///
/// Text files are those of nbody-with-center and others like it: a line with the time, one with the number of
/// particles, then for each `id mass x y z vx vy vz`. Error: names file and line, and what is wrong there: also
/// numbers that are not finite, masses that are not positive, ids that occur twice; `particles` is as it was.
[[nodiscard]] Result<double> read_text(const std::filesystem::path& file,
                                       const TextColumns& columns,
                                       Particles& particles,
                                       std::uint32_t rank = 0,
                                       std::uint32_t ranks = 1);

/// All digits, so that reading gives the same bits. Written under another name and renamed when complete.
/// Returns its size in bytes.
[[nodiscard]] Result<std::uint64_t> write_text(const std::filesystem::path& file,
                                               double time,
                                               const TextColumns& columns,
                                               const Particles& particles);

}  // namespace plait::particles
