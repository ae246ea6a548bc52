// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>

#include "plait/particles/store/vector.hpp"

namespace plait::particles {

/// An axis-parallel box that includes its faces. A default-constructed box is empty.
struct Box {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  Vector low{infinity, infinity, infinity};
  Vector high{-infinity, -infinity, -infinity};

  constexpr void include(const Vector& p) { include(Box{p, p}); }
  constexpr void include(const Box& b) {
    low = {std::min(low.x, b.low.x), std::min(low.y, b.low.y), std::min(low.z, b.low.z)};
    high = {std::max(high.x, b.high.x), std::max(high.y, b.high.y), std::max(high.z, b.high.z)};
  }
  [[nodiscard]] constexpr bool is_empty() const { return low.x > high.x; }
  /// The longest edge. Expects: the box is not empty.
  [[nodiscard]] constexpr double edge_max() const { return std::max({high.x - low.x, high.y - low.y, high.z - low.z}); }
  [[nodiscard]] constexpr bool contains(const Box& b) const {
    return low.x <= b.low.x && low.y <= b.low.y && low.z <= b.low.z && b.high.x <= high.x && b.high.y <= high.y &&
           b.high.z <= high.z;
  }
  [[nodiscard]] constexpr bool contains(const Vector& p) const { return contains(Box{p, p}); }
};

/// Squared distance from `p` to the nearest point of `box`; 0 inside.
///
/// Rounds monotonically: for a box within `box` the result is never smaller.
[[nodiscard]] constexpr double distance2(const Box& box, const Vector& p) {
  const auto larger = [](double a, double b) { return a > b ? a : b; };  // one instruction where std::max may branch
  const double dx = larger(larger(box.low.x - p.x, p.x - box.high.x), 0.0);
  const double dy = larger(larger(box.low.y - p.y, p.y - box.high.y), 0.0);
  const double dz = larger(larger(box.low.z - p.z, p.z - box.high.z), 0.0);
  return dx * dx + dy * dy + dz * dz;
}

/// Squared distance from `p` to the farthest corner of `box`.
[[nodiscard]] constexpr double distance2_max(const Box& box, const Vector& p) {
  const auto larger = [](double a, double b) { return a > b ? a : b; };
  const double dx = larger(p.x - box.low.x, box.high.x - p.x);
  const double dy = larger(p.y - box.low.y, box.high.y - p.y);
  const double dz = larger(p.z - box.low.z, box.high.z - p.z);
  return dx * dx + dy * dy + dz * dz;
}

}  // namespace plait::particles
