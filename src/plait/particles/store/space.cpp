// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/space.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::particles {

void Space::check() const {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (periodic[axis] && !(root.high[axis] > root.low[axis] && std::isfinite(root.high[axis] - root.low[axis]))) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format(
              "the space is periodic along {} from {} to {}: the root box needs a positive, finite length there",
              "xyz"[axis],
              root.low[axis],
              root.high[axis])};
    }
  }
  if (coordinates == Coordinates::cylindrical && (periodic[0] || periodic[1])) {
    throw Error{ErrorCode::bad_argument,
                "a space with cylindrical coordinates cannot be periodic along x or y, only along z"};
  }
}

Vector Space::wrap(Vector position) const {
  const auto fold = [](double p, double low, double high) {
    if ((p >= low && p < high) || !std::isfinite(p)) {
      return p;
    }
    const double folded = p - (high - low) * std::floor((p - low) / (high - low));
    return folded >= low && folded < high ? folded : low;  // rounding may have moved it to the upper end
  };
  return {periodic[0] ? fold(position.x, root.low.x, root.high.x) : position.x,
          periodic[1] ? fold(position.y, root.low.y, root.high.y) : position.y,
          periodic[2] ? fold(position.z, root.low.z, root.high.z) : position.z};
}

Vector Space::place(const Vector& position) const {
  if (coordinates == Coordinates::cartesian) {
    return position;
  }
  // On the axis: a finite logarithm, in the innermost domain.
  const double r2 = position.x * position.x + position.y * position.y;
  return {
      std::atan2(position.y, position.x), 0.5 * std::log(std::max(r2, std::numeric_limits<double>::min())), position.z};
}

}  // namespace plait::particles
