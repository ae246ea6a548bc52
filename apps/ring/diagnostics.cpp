// SPDX-License-Identifier: Apache-2.0
#include "ring/diagnostics.hpp"

#include <cmath>

namespace ring {

Diagnostics& Diagnostics::operator+=(const Diagnostics& other) {
  kinetic += other.kinetic;
  central_potential += other.central_potential;
  self_potential += other.self_potential;
  spring += other.spring;
  dissipated += other.dissipated;
  mass += other.mass;
  angular_momentum += other.angular_momentum;
  momentum += other.momentum;
  return *this;
}

Diagnostics diagnose(std::span<const Body> bodies, double central_mass) {
  Diagnostics sum;
  for (const Body& body : bodies) {
    sum.kinetic += body.mass / 2 * dot(body.velocity, body.velocity);
    if (central_mass > 0) {
      sum.central_potential -= body.mass * central_mass / length(body.position);
    }
    sum.self_potential += body.mass / 2 * body.potential;
    sum.mass += body.mass;
    sum.angular_momentum += body.mass * cross(body.position, body.velocity);
    sum.momentum += body.mass * body.velocity;
  }
  return sum;
}

}  // namespace ring
