// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/space.hpp"

namespace plait::particles::detail {

/// A fast test whether a position is in a box of cylindrical coordinates. It needs no angle and no logarithm, which
/// would dominate the search, as most particles stay in their domain.
class CylindricalInside {
 public:
  /// `places`: the box; unbounded where infinite, as `Domain::box`.
  explicit CylindricalInside(const Box& places)
      : low_angle_{std::max(places.low.x, -std::numbers::pi)},
        high_angle_{std::min(places.high.x, std::numbers::pi)},
        is_whole_circle_{low_angle_ <= -std::numbers::pi && high_angle_ >= std::numbers::pi},
        is_half_circle_at_most_{high_angle_ - low_angle_ <= std::numbers::pi},
        low_r2_{std::exp(2 * places.low.y) * (1 + margin)},
        high_r2_{std::exp(2 * places.high.y) * (1 - margin)},
        low_z_{places.low.z},
        high_z_{places.high.z} {}

  /// True only if `p` is inside. False for points outside, and for some inside that are near the border.
  [[nodiscard]] bool surely_has(const Vector& p) const {
    const double r2 = p.x * p.x + p.y * p.y;
    if (!(r2 >= low_r2_ && r2 < high_r2_ && p.z >= low_z_ && p.z < high_z_)) {
      return false;
    }
    if (is_whole_circle_) {
      return true;
    }
    // The position is above the half plane at the lower angle, and below that at the upper one.
    const double slack = margin * (std::abs(p.x) + std::abs(p.y));
    const bool is_above = low_.x * p.y - low_.y * p.x > slack;
    const bool is_below = p.x * high_.y - p.y * high_.x > slack;
    return is_half_circle_at_most_ ? is_above && is_below : is_above || is_below;
  }

 private:
  static constexpr double margin = 1e-9;

  double low_angle_;
  double high_angle_;
  bool is_whole_circle_;
  bool is_half_circle_at_most_;
  Vector low_{std::cos(low_angle_), std::sin(low_angle_), 0};
  Vector high_{std::cos(high_angle_), std::sin(high_angle_), 0};
  double low_r2_;
  double high_r2_;
  double low_z_;
  double high_z_;
};

}  // namespace plait::particles::detail
