// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "plait/particles/store/vector.hpp"

namespace plait::particles {

/// The motion of the images of a shearing box: those one period of x ahead are `displacement` behind along y, and
/// slower by `speed`. Zero without shear.
struct Slide {
  double displacement = 0;  ///< In [0, period.y).
  double speed = 0;

  friend bool operator==(const Slide&, const Slide&) = default;
};

/// An image of a particle, relative to a target.
struct Separation {
  Vector offset;       ///< From the target to the image.
  double y_speed = 0;  ///< The velocity of the image along y, minus that of its particle.
};

/// The places of all images of a particle: whole periods along each axis, and the slide of a shearing box.
struct Lattice {
  Vector period;  ///< 0 along open axes.
  Slide slide = {};

  /// The image in the box of one period around a target, given any image's offset from it: folds x, then y and z.
  [[nodiscard]] Separation in_box(Vector offset) const {
    const auto periods = [](double distance, double length) {
      return length > 0 && std::abs(distance) > length / 2 ? std::nearbyint(distance / length) : 0.0;
    };
    const double ahead = periods(offset.x, period.x);
    offset.x -= ahead * period.x;
    offset.y += ahead * slide.displacement;
    offset.y -= periods(offset.y, period.y) * period.y;
    offset.z -= periods(offset.z, period.z) * period.z;
    return {offset, ahead * slide.speed};
  }
};

}  // namespace plait::particles
