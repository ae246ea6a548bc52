// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ring/parameters.hpp"
#include "ring/vector.hpp"

namespace ring {

/// The linear spring and damper between two bodies closer than `radius` (nbody-with-center).
///
/// Along the line between the bodies the overlap s = radius - r obeys s'' + eta s' + kappa s = 0, whatever the
/// two masses, for forces of the reduced mass times (kappa s + eta s'). With the period P of that oscillation and
/// the restitution S after half of it: eta = -4 ln(S) / P, kappa = 4 pi^2 / P^2 + eta^2 / 4.
struct ContactLaw {
  double radius = 0;  ///< 0: no contacts.
  double kappa = 0;
  double eta = 0;
  double gravity_radius = 0;  ///< Softened: the mutual gravity inside is linear, as in a sphere of this size.

  ContactLaw() = default;
  /// The period is `contact_steps` time steps.
  explicit ContactLaw(const Parameters& parameters);
  [[nodiscard]] bool is_on() const { return radius > 0; }
};

/// What one partner of a contact feels, and its half of the pair's energies.
struct ContactForce {
  Vector acceleration;
  double potential = 0;         ///< Added to gravity's -m/gravity_radius; makes it match the linear force inside.
  double spring_energy = 0;     ///< Half of the pair's.
  double dissipation_rate = 0;  ///< Half of the pair's.
};

/// The two partners seen from one of them.
struct ContactPair {
  Vector offset;    ///< Other minus own position, shorter than the radius, not null.
  Vector velocity;  ///< Other minus own velocity.
  double mass_own = 0;
  double mass_other = 0;
};

[[nodiscard]] ContactForce contact_force(const ContactLaw& law, const ContactPair& pair);

}  // namespace ring
