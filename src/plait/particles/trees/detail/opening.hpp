// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "plait/particles/store/box.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles::detail {

/// The squared distance from a box within which cells are always opened: their offsets from bodies in the box would
/// lose too many digits in single precision.
[[nodiscard]] inline double guard2(const Box& box) {
  const double guard = 1e-3 * box.edge_max();
  return guard * guard;
}

/// Finds nearest images along periodic axes.
class Images {
 public:
  /// `period` is 0 along open axes.
  explicit Images(const Vector& period) : period_{period}, half_{half(period.x), half(period.y), half(period.z)} {}

  /// The image of `place` nearest to `to`. Expects: both are in the root box.
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

/// Whether `node`, with an image of its centre at `center`, must be opened for bodies in `box`. If not, it need not be
/// opened for any box within: a sender that knows a larger box only is conservative.
[[nodiscard]] inline bool opens(const Node& node, const Vector& center, const Box& box, double guard2_of_box) {
  return distance2(box, center) <= std::max(static_cast<double>(node.opening2), guard2_of_box);
}
/// Whether `node` must be opened for all boxes within `box`.
[[nodiscard]] inline bool opens_everywhere(const Node& node, const Vector& center, const Box& box) {
  return distance2_max(box, center) <= static_cast<double>(node.opening2);
}
/// Whether all bodies of `node` are beyond `cutoff` from all bodies in `box`.
[[nodiscard]] inline bool is_beyond(const Node& node, const Vector& center, const Box& box, double cutoff) {
  const double reach = cutoff + static_cast<double>(node.radius.value());
  return distance2(box, center) > reach * reach;
}

/// The nearest images and the cut-off of forces.
struct Bounds {
  Images images;
  double cutoff;

  explicit Bounds(const TreeOptions& options)
      : images{options.period}, cutoff{options.cutoff > 0 ? options.cutoff : Box::infinity} {}

  /// Whether bodies in `box` need more of `node` than its multipole.
  [[nodiscard]] bool opens(const Node& node, const Box& box, double guard2_of_box) const {
    const Vector center = images.nearest(node.center, 0.5 * (box.low + box.high));
    return detail::opens(node, center, box, guard2_of_box) && !is_beyond(node, center, box, cutoff);
  }
  [[nodiscard]] bool opens(const Node& node, const Box& box) const { return opens(node, box, guard2(box)); }
};

}  // namespace plait::particles::detail
