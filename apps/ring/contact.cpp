// SPDX-License-Identifier: Apache-2.0
#include "ring/contact.hpp"

#include <cmath>
#include <numbers>

namespace ring {

ContactLaw::ContactLaw(const Parameters& parameters)
    : radius{parameters.collision_radius},
      gravity_radius{std::hypot(parameters.collision_radius, parameters.softening)} {
  const double period = parameters.contact_steps * parameters.time_step;
  const double omega = 2 * std::numbers::pi / period;
  eta = -4 * std::log(parameters.restitution) / period;
  kappa = omega * omega + eta * eta / 4;
}

ContactForce contact_force(const ContactLaw& law, const ContactPair& pair) {
  const double r2 = dot(pair.offset, pair.offset);
  const double r = std::sqrt(r2);
  const double overlap = law.radius - r;
  const double closing_speed = -dot(pair.offset, pair.velocity) / r;
  const double share = pair.mass_other / (pair.mass_own + pair.mass_other);
  const double reduced_mass = share * pair.mass_own;
  const double push = share * (law.kappa * overlap + law.eta * closing_speed);
  const double linear = law.gravity_radius * law.gravity_radius * law.gravity_radius;
  return {.acceleration = (-push / r) * pair.offset,
          .potential = -pair.mass_other * (law.radius * law.radius - r2) / (2 * linear),
          .spring_energy = law.kappa * reduced_mass * overlap * overlap / 4,
          .dissipation_rate = law.eta * reduced_mass * closing_speed * closing_speed / 2};
}

}  // namespace ring
