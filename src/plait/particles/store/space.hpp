// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/lattice.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/vector.hpp"

namespace plait::particles {

/// The coordinates of domain boundaries. Trees and distances are always cartesian.
enum class Coordinates : std::uint8_t {
  cartesian,
  cylindrical,  ///< Azimuth in [-pi, pi], logarithm of the distance from the axis x = y = 0, z: for rings and discs.
};

/// A flow along y that is linear in x, as in a patch of a disc (Hill's approximation): the images of the box move with
/// it. Hawley, Gammie and Balbus, Astrophysical Journal 440 (1995) 742, section 2; Wisdom and Tremaine, Astronomical
/// Journal 95 (1988) 925.
struct Shear {
  /// The flow is v_y = -rate x. In a Keplerian disc, with x outwards and y along the orbit, it is 3/2 of the orbital
  /// frequency. Any sign; 0: none.
  double rate = 0;
  double time = 0;  ///< Boxes are in line at 0. See `System::set_time`.
  /// The velocities of particles: where a particle crosses a boundary along x, its y component changes by that of the
  /// boxes. Nothing: the program has no velocities, or corrects them.
  std::optional<Field<Vector>> velocity;
};

/// The simulated space: its periodic axes, and the coordinates of domain decomposition.
///
/// A default-constructed space is open along all axes. Along periodic axes, positions are in [low, high) of `root`.
struct Space {
  Box root;                        ///< Used along periodic axes only.
  std::array<bool, 3> periodic{};  ///< Of the cartesian axes x, y, z.
  Coordinates coordinates = Coordinates::cartesian;
  Shear shear;

  /// Throws: `Error` with `bad_argument` if a periodic axis has no length, or is x or y of cylindrical coordinates; if
  /// a shear is not finite, or is not periodic along x and y.
  void check() const;
  /// Checks a distance within which one image of each source acts. Throws: `Error` with `bad_argument`, naming `what`,
  /// if it is more than half of a shearing box.
  void check_reach(std::string_view what, double distance) const;

  [[nodiscard]] bool is_periodic() const noexcept { return periodic[0] || periodic[1] || periodic[2]; }
  /// The lengths of the periodic axes; 0 along open ones.
  [[nodiscard]] Vector period() const noexcept {
    return {periodic[0] ? root.high.x - root.low.x : 0,
            periodic[1] ? root.high.y - root.low.y : 0,
            periodic[2] ? root.high.z - root.low.z : 0};
  }

  [[nodiscard]] bool has_shear() const noexcept { return shear.rate != 0; }
  /// The images at the time of the shear.
  [[nodiscard]] Lattice lattice() const;

  /// The image of `position` in the root box. Leaves components that are not finite unchanged.
  [[nodiscard]] Vector wrap(const Vector& position) const;
  /// Moves the particles [first, last) to their images in the root box, with the velocities of these.
  void wrap(Particles& store, std::size_t first, std::size_t last) const;
  /// The shortest image of the difference of two positions.
  [[nodiscard]] Vector nearest(const Vector& difference) const {
    return has_shear() ? nearest_in_shear(difference) : Lattice{period()}.in_box(difference).offset;
  }

  /// `position` in the coordinates of domain boundaries.
  [[nodiscard]] Vector place(const Vector& position) const;
  /// The axes of these coordinates along which the last domain is adjacent to the first.
  [[nodiscard]] std::array<bool, 3> closed_axes() const noexcept {
    return coordinates == Coordinates::cylindrical ? std::array{true, false, periodic[2]} : periodic;
  }

 private:
  [[nodiscard]] Vector nearest_in_shear(const Vector& difference) const;
};

}  // namespace plait::particles
