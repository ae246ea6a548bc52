// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "plait/particles/store/particles.hpp"
#include "plait/particles/trees/walk.hpp"

namespace plait::particles {

/// The linear spring and damper between two particles closer than `radius`, as in nbody-with-center.
///
/// The force is the reduced mass times (kappa s + eta s'), so that the overlap s = radius - r obeys
/// s'' + eta s' + kappa s = 0 for any masses. With the period P of this oscillation and the restitution S after half of
/// it: eta = -4 ln(S) / P, kappa = 4 pi^2 / P^2 + eta^2 / 4.
struct ContactLaw {
  struct Options {
    double radius = 0;
    double period = 1;         ///< A contact lasts half of it.
    double restitution = 0.5;  ///< The ratio of normal velocities after and before a contact, in (0, 1].
    double softening = 0;      ///< The Plummer length of gravity.
  };
  explicit ContactLaw(const Options& options);

  double radius = 0;
  double kappa = 0;
  double eta = 0;
  double gravity_radius = 0;  ///< The softened radius, within which mutual gravity is linear.
};

/// The effect of a contact on one partner, and its half of the energies.
struct ContactForce {
  Vector acceleration;
  double potential = 0;         ///< To be added to -m / gravity_radius; matches the linear force inside.
  double spring_energy = 0;     ///< Half of the pair's.
  double dissipation_rate = 0;  ///< Half of the pair's.
};

/// Two partners, relative to one of them.
struct ContactPair {
  Vector offset;    ///< Other minus own position, shorter than the radius, not zero.
  Vector velocity;  ///< Other minus own velocity.
  double mass_own = 0;
  double mass_other = 0;
};

[[nodiscard]] ContactForce contact_force(const ContactLaw& law, const ContactPair& pair);

struct ContactFields {
  Field<double> mass;  ///< Also the charge of the tree, with G = 1.
  Field<Vector> velocity;
  Field<Vector> acceleration;  ///< Is added to.
  Field<double> potential;     ///< Is added to.
};

/// Indices in `NearPairs::sums`: the energy of springs, and the energy that dampers dissipate per unit of time.
inline constexpr std::size_t spring_sum = 0;
inline constexpr std::size_t dissipation_sum = 1;
inline constexpr std::size_t contact_sums = 2;

/// The energies of contacts over many steps, of one rank or of all.
struct ContactEnergies {
  double dissipated = 0;  ///< Since the start.
  double dissipation_rate = 0;
  double spring = 0;

  /// Adds a step of length `dt`, given the sums at its end. Integrates dissipation by the trapezoidal rule.
  void advance(std::span<const double> sums, double dt);
  ContactEnergies& operator+=(const ContactEnergies& other);
};

/// A function for `WalkOptions::near`, also between images in periodic and shearing boxes. Borrows `store`. Expects:
/// `TreeOptions::near_radius` is the law's radius, and `TreeOptions::travels` is the velocity.
[[nodiscard]] NearFunction contacts(const ContactLaw& law, Particles& store, const ContactFields& fields);

}  // namespace plait::particles
