// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/vector.hpp"

namespace plait::particles {

/// The coordinates of domain boundaries. Trees and distances are always cartesian.
enum class Coordinates : std::uint8_t {
  cartesian,
  cylindrical,  ///< Azimuth in [-pi, pi], logarithm of the distance from the axis x = y = 0, z: for rings and discs.
};

/// The simulated space: its periodic axes, and the coordinates of domain decomposition.
///
/// A default-constructed space is open along all axes. Along periodic axes, positions are in [low, high) of `root`.
struct Space {
  Box root;                        ///< Used along periodic axes only.
  std::array<bool, 3> periodic{};  ///< Of the cartesian axes x, y, z.
  Coordinates coordinates = Coordinates::cartesian;

  /// Throws: `Error` with `bad_argument` if a periodic axis has no length, or is x or y of cylindrical coordinates.
  void check() const;

  [[nodiscard]] bool is_periodic() const noexcept { return periodic[0] || periodic[1] || periodic[2]; }
  /// The lengths of the periodic axes; 0 along open ones.
  [[nodiscard]] Vector period() const noexcept {
    return {periodic[0] ? root.high.x - root.low.x : 0,
            periodic[1] ? root.high.y - root.low.y : 0,
            periodic[2] ? root.high.z - root.low.z : 0};
  }

  /// The image of `position` in the root box. Leaves components that are not finite unchanged.
  [[nodiscard]] Vector wrap(Vector position) const;
  /// The shortest image of the difference of two positions.
  [[nodiscard]] Vector nearest(Vector difference) const;

  /// `position` in the coordinates of domain boundaries.
  [[nodiscard]] Vector place(const Vector& position) const;
  /// The axes of these coordinates along which the last domain is adjacent to the first.
  [[nodiscard]] std::array<bool, 3> closed_axes() const noexcept {
    return coordinates == Coordinates::cylindrical ? std::array{true, false, periodic[2]} : periodic;
  }
};

inline Vector Space::nearest(Vector difference) const {
  const auto fold = [](double d, double period) {
    return period > 0 && std::abs(d) > period / 2 ? d - period * std::nearbyint(d / period) : d;
  };
  const Vector lengths = period();
  return {fold(difference.x, lengths.x), fold(difference.y, lengths.y), fold(difference.z, lengths.z)};
}

}  // namespace plait::particles
