// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "plait/base/random.hpp"

#include "ring/ring.hpp"

namespace ring {
namespace {

/// Place `i` of `n` spread evenly from 0 to 1; in the middle when alone.
double fraction(std::uint64_t i, std::uint32_t n) {
  return n > 1 ? static_cast<double>(i) / (n - 1) : 0.5;
}

void check(const RingShape& shape) {
  const bool counts = shape.azimuthal > 0 && shape.radial > 0 && shape.layers > 0;
  const bool sizes = shape.inner > 0 && shape.width >= 0 && shape.thickness >= 0 && shape.total_mass > 0 &&
                     shape.central_mass > 0 && shape.velocity_scatter >= 0;
  if (!counts || !sizes) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       "a ring needs at least one body in azimuth, radius and height, a positive inner radius and "
                       "masses, and no negative width, thickness or velocity scatter"};
  }
  if (shape.layers > 1 && shape.thickness == 0) {
    throw plait::Error{
        plait::ErrorCode::bad_argument,
        fmt::format("{} layers of thickness 0 would lie upon each other; give a thickness", shape.layers)};
  }
}

}  // namespace

void make_ring(const RingShape& shape, Bodies& bodies, std::uint32_t rank, std::uint32_t ranks) {
  check(shape);
  const std::uint64_t count = std::uint64_t{shape.azimuthal} * shape.radial * shape.layers;
  const std::uint64_t first = count * rank / ranks;
  const std::uint64_t last = count * (rank + 1) / ranks;
  std::size_t at = bodies.store.add(last - first);
  for (std::uint64_t i = first; i < last; ++i, ++at) {
    const double phi = 2 * std::numbers::pi * static_cast<double>(i / shape.layers / shape.radial) / shape.azimuthal;
    const double r = shape.radial > 1
                         ? shape.inner + shape.width * fraction(i / shape.layers % shape.radial, shape.radial)
                         : shape.inner;
    const double z = shape.thickness * (fraction(i % shape.layers, shape.layers) - 0.5);
    const double speed = std::sqrt(shape.central_mass / r);
    bodies.store.positions()[at] = {r * std::cos(phi), r * std::sin(phi), z};
    Vector velocity{-speed * std::sin(phi), speed * std::cos(phi), 0};
    if (shape.velocity_scatter > 0) {
      plait::Random random{plait::Random{shape.seed}() ^ plait::Random{~i}()};
      velocity += (shape.velocity_scatter * speed) * Vector{random.normal(), random.normal(), random.normal()};
    }
    bodies.store[bodies.velocity][at] = velocity;
    bodies.store[bodies.mass][at] = shape.total_mass / static_cast<double>(count);
    bodies.store.ids()[at] = i + 1;
    bodies.store[Particles::kind][at] = 1;
  }
}

}  // namespace ring
