// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/neighbours/contact.hpp"

#include <cmath>
#include <numbers>

#include "plait/base/error.hpp"

namespace plait::particles {

ContactLaw::ContactLaw(const Options& options)
    : radius{options.radius}, gravity_radius{std::hypot(options.radius, options.softening)} {
  const double omega = 2 * std::numbers::pi / options.period;
  eta = -4 * std::log(options.restitution) / options.period;
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

void ContactEnergies::advance(std::span<const double> sums, double dt) {
  const double rate = sums[dissipation_sum];
  dissipated += (dissipation_rate + rate) * (dt / 2);
  dissipation_rate = rate;
  spring = sums[spring_sum];
}

ContactEnergies& ContactEnergies::operator+=(const ContactEnergies& other) {
  dissipated += other.dissipated;
  dissipation_rate += other.dissipation_rate;
  spring += other.spring;
  return *this;
}

NearFunction contacts(const ContactLaw& law, Particles& store, const ContactFields& fields) {
  return [law, &store, fields](const NearPairs& pairs) {
    expect(pairs.sums.size() >= contact_sums, "the walk has the sums of contacts: set near_sums");
    const Particles::Index own = pairs.target;
    const auto* const velocities = reinterpret_cast<const Vector*>(pairs.view.columns[0]);
    for (const std::uint32_t other : pairs.sources) {
      const Source& source = pairs.view.sources[other];
      const auto [offset, y_speed] = pairs.images.in_box(source.position - store.positions()[own]);
      if (dot(offset, offset) == 0) {
        continue;  // the force has no direction
      }
      const ContactForce force = contact_force(law,
                                               {offset,
                                                velocities[other] + Vector{0, y_speed, 0} - store[fields.velocity][own],
                                                store[fields.mass][own],
                                                source.mass});
      store[fields.acceleration][own] += force.acceleration;
      store[fields.potential][own] += force.potential;
      pairs.sums[spring_sum] += force.spring_energy;
      pairs.sums[dissipation_sum] += force.dissipation_rate;
    }
  };
}

}  // namespace plait::particles
