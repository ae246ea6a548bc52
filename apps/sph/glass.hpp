// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sph/gas.hpp"

namespace sph {

/// Points in the periodic unit cube, as even as on a lattice but without its directions: gas on a lattice that is
/// stretched along one of these keeps its planes, and is not pressed as it should be.
///
/// `edge` cubed points that began at random and pushed each other away in a viscous fluid. The same points for the same
/// arguments on the same kind of processor. Cost: about a second for 12 along the edge.
[[nodiscard]] std::vector<Vector> make_glass(std::uint32_t edge, std::uint32_t steps = 150);

/// Points of a glass along an edge of its cube, in problems.
inline constexpr std::uint32_t glass_edge = 12;

}  // namespace sph
