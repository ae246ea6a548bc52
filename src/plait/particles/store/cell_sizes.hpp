// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace plait::particles {

/// The sizes of the parts of particles [0, n) of a store, in their order: cells of groups of leaves. Ranks exchange
/// them, and trees take them as their structure. No part is empty.
struct CellSizes {
  std::vector<std::uint16_t> leaves;  ///< Particles of each.
  std::vector<std::uint16_t> groups;  ///< Leaves of each.
  std::vector<std::uint16_t> cells;   ///< Groups of each.
};

}  // namespace plait::particles
