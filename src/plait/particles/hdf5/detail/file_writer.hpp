// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plait/files/hdf5/writer.hpp"
#include "plait/particles/hdf5/snapshot.hpp"

namespace plait::particles::hdf5::detail {

/// How the particles of a file are divided among ranks: this rank's begin, of each type, at `firsts`.
struct Shares {
  std::array<std::uint64_t, types_max> totals{};
  std::array<std::uint64_t, types_max> firsts{};
  std::vector<std::uint64_t> rank_particles;  ///< As in `SnapshotInfo`.
  bool is_first_rank = true;
};

/// Of each type, among `particles`. Throws: `Error` with `bad_argument` for a kind that files have no group for.
[[nodiscard]] std::array<std::uint64_t, types_max> count_types(const Particles& particles);

/// Puts a snapshot into an open file. `header`, `layout` and the totals are the same on all writers.
void write_contents(files::Hdf5Writer& out,
                    const SnapshotHeader& header,
                    const SnapshotLayout& layout,
                    const Particles& particles,
                    const Shares& shares);

}  // namespace plait::particles::hdf5::detail
