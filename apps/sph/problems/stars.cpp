// SPDX-License-Identifier: Apache-2.0
// Problems of gravity alone.
#include <cmath>
#include <cstdint>

#include "plait/base/random.hpp"

#include "sph/problem.hpp"

namespace sph {

namespace {

constexpr double two_bodies_eccentricity = 0.5;
/// The part of the mass of Plummer's sphere, which is infinite, that is sampled.
constexpr double plummer_part = 0.999;

Vector direction(plait::Random& random) {
  const double z = 2 * random.unit() - 1;
  const double phi = 2 * M_PI * random.unit();
  const double across = std::sqrt(1 - z * z);
  return {across * std::cos(phi), across * std::sin(phi), z};
}

/// Speed over escape speed of a star in Plummer's sphere: from g(q) = q^2 (1 - q^2)^(7/2) by rejection (Aarseth, Henon
/// and Wielen, 1974).
double speed_ratio(plait::Random& random) {
  for (;;) {
    const double q = random.unit();
    if (0.1 * random.unit() < q * q * std::pow(1 - q * q, 3.5)) {
      return q;
    }
  }
}

}  // namespace

Problem make_plummer(const ProblemOptions& options) {
  Problem problem;
  const std::uint64_t count = std::uint64_t{options.resolution} * 1000;
  const double scale = 3 * M_PI / 16;  // Henon's units: mass 1, energy -1/4, crossing time 2 sqrt(2)
  problem.space.root = {{-25, -25, -25}, {25, 25, 25}};
  problem.time_end = 20 * std::sqrt(2.0);
  problem.scheme.gravity = {
      .constant = 1, .softening = 0.5 * scale / std::cbrt(static_cast<double>(count)), .step_max = 0.04};
  problem.visit = [=, seed = options.seed](const std::function<void(const Sample&)>& use) {
    const double mass = 1 / static_cast<double>(count);
    const auto visit = [&](const auto& take) {
      plait::Random random{seed};
      // Each star has an opposite twin, so that the sphere neither drifts nor rotates.
      for (std::uint64_t i = 0; i < count; i += 2) {
        const double part = plummer_part * (static_cast<double>(i) + 1) / static_cast<double>(count);  // evenly in mass
        const double r = scale / std::sqrt(std::pow(part, -2.0 / 3) - 1);
        const Vector at = r * direction(random);
        const double escape = std::sqrt(2.0) * std::pow(r * r + scale * scale, -0.25);
        take(at, speed_ratio(random) * escape * direction(random));
      }
    };
    // Speeds are scaled to equilibrium: else sampling noise would make the sphere pulsate.
    double kinetic = 0;
    visit([&](const Vector&, const Vector& velocity) { kinetic += mass * dot(velocity, velocity); });
    const double scaling = std::sqrt(0.25 / kinetic);
    visit([&](const Vector& at, const Vector& velocity) {
      use({.position = at, .velocity = scaling * velocity, .mass = mass, .kind = dark_kind});
      use({.position = -1 * at, .velocity = -scaling * velocity, .mass = mass, .kind = dark_kind});
    });
  };
  return problem;
}

Problem make_kepler_ring(const ProblemOptions& options) {
  Problem problem;
  problem.space.root = {{-2, -2, -2}, {2, 2, 2}};
  problem.time_end = 2 * M_PI;  // an orbit of radius 1
  problem.scheme.gravity = {.constant = 1, .softening = 1e-3, .step_max = 2 * M_PI / 512};
  problem.visit = [count = options.resolution](const std::function<void(const Sample&)>& use) {
    use({.mass = 1, .kind = dark_kind});
    for (std::uint32_t i = 0; i < count; ++i) {
      const double phi = 2 * M_PI * i / count;
      const Vector at{std::cos(phi), std::sin(phi), 0};
      use({.position = at, .velocity = {-at.y, at.x, 0}, .mass = 1e-9, .kind = dark_kind});
    }
  };
  return problem;
}

Problem make_two_bodies(const ProblemOptions&) {
  Problem problem;
  problem.space.root = {{-2, -2, -2}, {2, 2, 2}};
  problem.time_end = 2 * M_PI;  // of masses that add up to 1 and a large half axis of 1
  problem.scheme.gravity = {.constant = 1, .softening = 1e-4, .step_max = 2 * M_PI / 2048};
  problem.visit = [](const std::function<void(const Sample&)>& use) {
    // At the far ends of their ellipses.
    const double e = two_bodies_eccentricity;
    const Vector apart{1 + e, 0, 0};
    const Vector flow{0, std::sqrt((1 - e) / (1 + e)), 0};
    use({.position = 0.3 * apart, .velocity = 0.3 * flow, .mass = 0.7, .kind = dark_kind});
    use({.position = -0.7 * apart, .velocity = -0.7 * flow, .mass = 0.3, .kind = dark_kind});
  };
  return problem;
}

}  // namespace sph
