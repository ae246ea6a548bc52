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

/// Finds images along periodic axes.
class Images {
 public:
  /// `period` is 0 along open axes.
  Images(const Vector& period, const Slide& slide)
      : period_{period}, half_{half(period.x), half(period.y), half(period.z)}, displacement_{slide.displacement} {}

  /// The image of `place` in the box of one period around `to`, as `Lattice::in_box`. Expects: both are in the root
  /// box.
  [[nodiscard]] Vector nearest(const Vector& place, const Vector& to) const {
    if (displacement_ != 0) {
      const double difference = place.x - to.x;
      const double row = difference > half_.x ? -1 : difference < -half_.x ? 1 : 0;
      return in_row(row, place, to);
    }
    return {fold(place.x, to.x, half_.x, period_.x),
            fold(place.y, to.y, half_.y, period_.y),
            fold(place.z, to.z, half_.z, period_.z)};
  }
  /// The image of `place` nearest to `box`.
  [[nodiscard]] Vector nearest(const Vector& place, const Box& box) const {
    const Vector middle = 0.5 * (box.low + box.high);
    return displacement_ != 0 ? nearest_in_shear(place, box, middle) : nearest(place, middle);
  }

 private:
  [[nodiscard]] static double half(double period) { return period > 0 ? period / 2 : Box::infinity; }
  [[nodiscard]] static double fold(double place, double to, double half, double period) {
    const double difference = place - to;
    return difference > half ? place - period : difference < -half ? place + period : place;
  }

  /// The image that is `row` periods of x ahead, folded along y and z.
  [[nodiscard]] Vector in_row(double row, const Vector& place, const Vector& to) const {
    const double y = place.y - row * displacement_;
    return {place.x + row * period_.x,
            y - period_.y * std::nearbyint((y - to.y) / period_.y),
            fold(place.z, to.z, half_.z, period_.z)};
  }
  /// Images may be nearer than the one in the box around the middle, as rows are displaced.
  [[nodiscard]] Vector nearest_in_shear(const Vector& place, const Box& box, const Vector& middle) const {
    Vector nearest = in_row(0, place, middle);
    for (const double row : {-1.0, 1.0}) {
      const Vector image = in_row(row, place, middle);
      nearest = distance2(box, image) < distance2(box, nearest) ? image : nearest;
    }
    return nearest;
  }

  Vector period_;
  Vector half_;
  double displacement_;
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
      : images{options.period, options.slide}, cutoff{options.cutoff > 0 ? options.cutoff : Box::infinity} {}

  /// Whether bodies in `box` need more of `node` than its multipole.
  [[nodiscard]] bool opens(const Node& node, const Box& box, double guard2_of_box) const {
    const Vector center = images.nearest(node.center, box);
    return detail::opens(node, center, box, guard2_of_box) && !is_beyond(node, center, box, cutoff);
  }
  [[nodiscard]] bool opens(const Node& node, const Box& box) const { return opens(node, box, guard2(box)); }
};

}  // namespace plait::particles::detail
