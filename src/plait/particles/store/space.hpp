// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

/// Where particles are: which axes close, and by which coordinates ranks share it.
///
/// A default-constructed space is open everywhere. Along periodic axes, positions are in [low, high) of `root`.
struct Space {
  Box root;                        ///< Matters along periodic axes only.
  std::array<bool, 3> periodic{};  ///< Of the cartesian axes x, y, z.
  Coordinates coordinates = Coordinates::cartesian;

  /// Throws: `Error` with `bad_argument` when a periodic axis has no length, or is x or y of cylindrical coordinates.
  void check() const;

  [[nodiscard]] bool is_periodic() const noexcept { return periodic[0] || periodic[1] || periodic[2]; }
  /// The lengths of the periodic axes; 0 along open ones.
  [[nodiscard]] Vector period() const noexcept {
    return {periodic[0] ? root.high.x - root.low.x : 0,
            periodic[1] ? root.high.y - root.low.y : 0,
            periodic[2] ? root.high.z - root.low.z : 0};
  }

  /// The image of `position` in the root box; components that are no finite numbers stay what they are.
  [[nodiscard]] Vector wrap(Vector position) const;
  /// The shortest of all images of a difference of two positions.
  [[nodiscard]] Vector nearest(Vector difference) const;

  /// Squared distance of `p` from the nearest image of `box`; 0 inside. For a box within `box` never smaller, also
  /// after rounding. Expects: both are in the root box, or less than a period outside.
  [[nodiscard]] double distance2(const Box& box, const Vector& p) const { return distance2(box, Box{p, p}); }
  /// The same between the nearest images of two boxes; 0 when they meet.
  [[nodiscard]] double distance2(const Box& a, const Box& b) const;

  /// Where `position` is in the coordinates by which domains are cut.
  [[nodiscard]] Vector place(const Vector& position) const;
  /// Which axes of places close: beyond the last domain comes the first.
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

inline double Space::distance2(const Box& a, const Box& b) const {
  const auto gap = [](double a_low, double a_high, double b_low, double b_high) {
    return std::max({a_low - b_high, b_low - a_high, 0.0});
  };
  const auto nearest_gap = [gap](double a_low, double a_high, double b_low, double b_high, double period) {
    double least = gap(a_low, a_high, b_low, b_high);
    if (period > 0 && least > 0) {
      least = std::min({least,
                        gap(a_low, a_high, b_low + period, b_high + period),
                        gap(a_low, a_high, b_low - period, b_high - period)});
    }
    return least;
  };
  const Vector lengths = period();
  const double dx = nearest_gap(a.low.x, a.high.x, b.low.x, b.high.x, lengths.x);
  const double dy = nearest_gap(a.low.y, a.high.y, b.low.y, b.high.y, lengths.y);
  const double dz = nearest_gap(a.low.z, a.high.z, b.low.z, b.high.z, lengths.z);
  return dx * dx + dy * dy + dz * dz;
}

}  // namespace plait::particles
