// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/runtime/runtime.hpp"

namespace plait::python {

struct GravitySettings {
  double softening = 0;
  double theta = 0.5;
  double coupling = 1;
  bool is_quadrupole = true;
  bool is_mixed = false;
};

/// The forces on this rank's bodies by those of all ranks, in their order.
struct Forces {
  std::vector<double> accelerations;  ///< Three a body.
  std::vector<double> potentials;
};

/// Sums gravity by trees. `positions` has three numbers a body, `masses` one. Collective; call it without the GIL.
/// Throws: `Error` with `bad_argument` for positions or masses that cannot be.
[[nodiscard]] Forces sum_gravity(Runtime& runtime,
                                 const comm::Group& group,
                                 std::span<const double> positions,
                                 std::span<const double> masses,
                                 const GravitySettings& settings);

/// The neighbours of point i of this rank are `indices[offsets[i]]` to `indices[offsets[i + 1] - 1]`, ascending. An
/// index counts the points of all ranks, in the order of ranks.
struct NeighbourLists {
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> indices;
};

/// Finds, for each point of this rank, all other points of any rank that are within its radius. Collective; call it
/// without the GIL. Throws: `Error` with `bad_argument` for positions or radii that cannot be.
[[nodiscard]] NeighbourLists find_neighbours(Runtime& runtime,
                                             const comm::Group& group,
                                             std::span<const double> positions,
                                             std::span<const double> radii,
                                             const particles::Space& space);

}  // namespace plait::python
