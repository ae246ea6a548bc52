// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/conserved.hpp"

namespace plait::particles {

Conserved& Conserved::operator+=(const Conserved& other) {
  mass += other.mass;
  kinetic += other.kinetic;
  potential += other.potential;
  momentum += other.momentum;
  angular_momentum += other.angular_momentum;
  return *this;
}

Conserved conserved(const Particles& particles, const ConservedFields& fields) {
  Conserved sum;
  const auto positions = particles.positions();
  const auto velocities = particles[fields.velocity];
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const double mass = particles[fields.mass][i];
    sum.mass += mass;
    sum.kinetic += mass / 2 * dot(velocities[i], velocities[i]);
    sum.potential += mass / 2 * particles[fields.potential][i];
    sum.momentum += mass * velocities[i];
    sum.angular_momentum += mass * cross(positions[i], velocities[i]);
  }
  return sum;
}

}  // namespace plait::particles
