// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "sph/gas.hpp"
#include "sph/problems/glass/glass.hpp"

namespace sph {

/// Calls `use` for the points of whole copies of a glass that fill [low, high), about `spacing` apart.
template <class Use>
void visit_glass(const Vector& low, const Vector& high, double spacing, Use use) {
  const double edge = glass_edge * spacing;
  const auto count = [&](double from, double to) { return std::max(1L, std::lround((to - from) / edge)); };
  const std::array counts{count(low.x, high.x), count(low.y, high.y), count(low.z, high.z)};
  const Vector size{(high.x - low.x) / static_cast<double>(counts[0]),
                    (high.y - low.y) / static_cast<double>(counts[1]),
                    (high.z - low.z) / static_cast<double>(counts[2])};
  for (long i = 0; i < counts[0]; ++i) {
    for (long j = 0; j < counts[1]; ++j) {
      for (long k = 0; k < counts[2]; ++k) {
        for (const auto& [x, y, z] : glass_points()) {
          use(low + Vector{size.x * (static_cast<double>(i) + x / glass_unit),
                           size.y * (static_cast<double>(j) + y / glass_unit),
                           size.z * (static_cast<double>(k) + z / glass_unit)});
        }
      }
    }
  }
}

/// The number of points along an axis of whole copies of a glass: `resolution`, rounded.
[[nodiscard]] inline std::uint32_t whole_glasses(std::uint32_t resolution) {
  return std::max(glass_edge, (resolution + glass_edge / 2) / glass_edge * glass_edge);
}

/// Particles across the thin box of a flow in two dimensions: no particle has another as a neighbour twice.
inline constexpr double thin_box_particles = glass_edge;

}  // namespace sph
