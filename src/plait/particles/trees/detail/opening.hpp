// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "plait/particles/store/box.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles::detail {

/// A cell nearer to a box than this many of the box's edges is opened whatever its size, so that its offset from the
/// bodies in the box keeps enough digits in single precision.
inline constexpr double guard_edges = 1e-3;

[[nodiscard]] inline double guard2(const Box& box) {
  const double guard = guard_edges * box.edge_max();
  return guard * guard;
}

/// Which of the images of a place is nearest, along periodic axes.
class Images {
 public:
  /// `period` is 0 along open axes.
  explicit Images(const Vector& period) : period_{period}, half_{half(period.x), half(period.y), half(period.z)} {}

  /// The image of `place` that is nearest to `to`; both are in the root box.
  [[nodiscard]] Vector nearest(const Vector& place, const Vector& to) const {
    return {fold(place.x, to.x, half_.x, period_.x),
            fold(place.y, to.y, half_.y, period_.y),
            fold(place.z, to.z, half_.z, period_.z)};
  }

 private:
  [[nodiscard]] static double half(double period) { return period > 0 ? period / 2 : Box::infinity; }
  [[nodiscard]] static double fold(double place, double to, double half, double period) {
    const double difference = place - to;
    return difference > half ? place - period : difference < -half ? place + period : place;
  }

  Vector period_;
  Vector half_;
};

/// Whether the moments of `node`, whose centre has an image at `center`, are not good enough for bodies in `box`. If
/// they are for a box, they are for every box within; so a sender that knows a larger box decides on the safe side.
[[nodiscard]] inline bool opens(const Node& node, const Vector& center, const Box& box, double guard2_of_box) {
  return distance2(box, center) <= std::max(static_cast<double>(node.opening2), guard2_of_box);
}
/// Whether `node` must be opened for every box within `box`.
[[nodiscard]] inline bool opens_everywhere(const Node& node, const Vector& center, const Box& box) {
  return distance2_max(box, center) <= static_cast<double>(node.opening2);
}
/// Whether nothing in `node` is within `cutoff` of any body in `box`.
[[nodiscard]] inline bool is_beyond(const Node& node, const Vector& center, const Box& box, double cutoff) {
  const double reach = cutoff + static_cast<double>(node.radius);
  return distance2(box, center) > reach * reach;
}

/// What bounds the forces between particles in space: nearest images, and a distance beyond which nothing acts.
struct Bounds {
  Images images{Vector{}};
  double cutoff = Box::infinity;

  explicit Bounds(const TreeOptions& options) : Bounds{options.period, options.cutoff} {}
  Bounds(const Vector& period, double cutoff_or_zero)
      : images{period}, cutoff{cutoff_or_zero > 0 ? cutoff_or_zero : Box::infinity} {}

  /// Whether bodies in `box` need more of `node` than its moments.
  [[nodiscard]] bool opens(const Node& node, const Box& box, double guard2_of_box) const {
    const Vector center = images.nearest(node.center, 0.5 * (box.low + box.high));
    return detail::opens(node, center, box, guard2_of_box) && !is_beyond(node, center, box, cutoff);
  }
  [[nodiscard]] bool opens(const Node& node, const Box& box) const { return opens(node, box, guard2(box)); }
};

}  // namespace plait::particles::detail
