// SPDX-License-Identifier: Apache-2.0
#include "ring/initial_condition.hpp"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace ring {
namespace {

/// Random numbers that depend on (seed, counter) alone, so that any part of a set can be made by itself and on any
/// machine: splitmix64 (Steele, Lea and Flood 2014).
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t stream) : state_{mix(seed) ^ mix(~stream)} {}

  /// Uniform in (0, 1).
  double uniform() {
    state_ += 0x9e3779b97f4a7c15;
    return (static_cast<double>(mix(state_) >> 11) + 0.5) * 0x1p-53;
  }
  /// Gaussian of unit deviation (Box and Muller).
  double gaussian() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  std::uint64_t state_;
};

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

std::uint64_t body_count(const RingShape& shape) {
  return std::uint64_t{shape.azimuthal} * shape.radial * shape.layers;
}

std::vector<Body> make_ring(const RingShape& shape, std::uint64_t first, std::uint64_t last) {
  check(shape);
  plait::expect(first <= last && last <= body_count(shape), "the part lies within the ring");
  std::vector<Body> bodies;
  bodies.reserve(last - first);
  const double mass = shape.total_mass / static_cast<double>(body_count(shape));
  for (std::uint64_t i = first; i < last; ++i) {
    const std::uint64_t layer = i % shape.layers;
    const std::uint64_t circle = i / shape.layers % shape.radial;
    const std::uint64_t azimuth = i / shape.layers / shape.radial;
    const double phi = 2 * std::numbers::pi * static_cast<double>(azimuth) / shape.azimuthal;
    const double r = shape.radial > 1 ? shape.inner + shape.width * fraction(circle, shape.radial) : shape.inner;
    const double z = shape.thickness * (fraction(layer, shape.layers) - 0.5);
    const double speed = std::sqrt(shape.central_mass / r);
    Body body;
    body.position = {r * std::cos(phi), r * std::sin(phi), z};
    body.velocity = {-speed * std::sin(phi), speed * std::cos(phi), 0};
    if (shape.velocity_scatter > 0) {
      CounterRandom random{shape.seed, i};
      const double scale = shape.velocity_scatter * speed;
      const double x = random.gaussian();
      const double y = random.gaussian();
      body.velocity += scale * Vector{x, y, random.gaussian()};
    }
    body.mass = mass;
    body.id = i + 1;
    bodies.push_back(body);
  }
  return bodies;
}

std::vector<Body> make_ring(const RingShape& shape) {
  return make_ring(shape, 0, body_count(shape));
}

std::vector<Body> make_sphere(std::uint32_t n, double radius, double total_mass, std::uint64_t seed) {
  std::vector<Body> bodies(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    CounterRandom random{seed, i};
    const double r = radius * std::cbrt(random.uniform());
    const double cosine = 2 * random.uniform() - 1;
    const double phi = 2 * std::numbers::pi * random.uniform();
    const double sine = std::sqrt(1 - cosine * cosine);
    bodies[i].position = r * Vector{sine * std::cos(phi), sine * std::sin(phi), cosine};
    bodies[i].mass = total_mass / n;
    bodies[i].id = std::uint64_t{i} + 1;
  }
  return bodies;
}

}  // namespace ring
