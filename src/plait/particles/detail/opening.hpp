// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "plait/particles/box.hpp"
#include "plait/particles/tree.hpp"

namespace plait::particles::detail {

/// A cell nearer to a box than this many of the box's edges is opened whatever its size, so that its offset from the
/// bodies in the box keeps enough digits in single precision.
inline constexpr double guard_edges = 1e-3;

[[nodiscard]] inline double guard2(const Box& box) {
  const double guard = guard_edges * box.edge_max();
  return guard * guard;
}

/// Whether the moments of `node` are not good enough for bodies in `box`. If they are for a box, they are for every
/// box within; so a sender that knows a larger box decides on the safe side.
[[nodiscard]] inline bool opens(const Node& node, const Box& box, double guard2_of_box) {
  return distance2(box, node.center) <= std::max(static_cast<double>(node.opening2), guard2_of_box);
}
/// Whether `node` must be opened for every box within `box`.
[[nodiscard]] inline bool opens_everywhere(const Node& node, const Box& box) {
  return distance2_max(box, node.center) <= static_cast<double>(node.opening2);
}
[[nodiscard]] inline bool opens(const Node& node, const Box& box) {
  return opens(node, box, guard2(box));
}

}  // namespace plait::particles::detail
