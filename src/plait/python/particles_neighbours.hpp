// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/particles/neighbours/short_range.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/runtime/runtime.hpp"

namespace plait::python {

/// The neighbours of point i of this rank are `indices[offsets[i]]` to `indices[offsets[i + 1] - 1]`, ascending. An
/// index counts the points of all ranks, in the order of ranks.
struct NeighbourRows {
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> indices;
};

struct NeighbourSettings {
  std::span<const double> radii;  ///< Of this rank's points.
  particles::Search search = particles::Search::gather;
  particles::Space space;
};

/// Finds, for each point of this rank, all other points of any rank that are its neighbours. Collective; call it
/// without the GIL. Throws: `Error` with `bad_argument` for positions or radii that cannot be.
[[nodiscard]] NeighbourRows find_neighbours(Runtime& runtime,
                                            const comm::Group& group,
                                            std::span<const double> positions,
                                            const NeighbourSettings& settings);

}  // namespace plait::python
