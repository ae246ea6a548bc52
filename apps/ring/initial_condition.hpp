// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ring/body.hpp"

namespace ring {

/// A narrow ring about the central mass.
struct RingShape {
  std::uint32_t azimuthal = 1000;  ///< Bodies on each circle.
  std::uint32_t radial = 20;       ///< Circles, from radius `inner` to `inner + width`.
  std::uint32_t layers = 1;        ///< Copies above each other, over `thickness`, about z = 0.
  double inner = 1.0;
  double width = 0.1;
  double thickness = 0;
  double total_mass = 5e-5;
  double central_mass = 1;
  double velocity_scatter = 0;  ///< Standard deviation of each component, in circular velocities.
  std::uint64_t seed = 1;
};

/// The bodies with index `first` to `last` - 1 of the ring; so each rank makes its part, and the ring does not depend
/// on the number of ranks. Azimuth grows slowest, so that a part is a sector. Ids count from 1.
/// Throws: `plait::Error` when the shape cannot be.
[[nodiscard]] std::vector<Body> make_ring(const RingShape& shape, std::uint64_t first, std::uint64_t last);
[[nodiscard]] std::vector<Body> make_ring(const RingShape& shape);
[[nodiscard]] std::uint64_t body_count(const RingShape& shape);

/// Bodies at rest, uniformly at random in a sphere about the origin. Ids count from 1.
[[nodiscard]] std::vector<Body> make_sphere(std::uint32_t n, double radius, double total_mass, std::uint64_t seed);

}  // namespace ring
