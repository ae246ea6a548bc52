// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "plait/particles/store/particles.hpp"
#include "plait/particles/trees/walk.hpp"

namespace plait::particles {

/// The linear spring and damper between two particles closer than `radius`, as nbody-with-center has it.
///
/// Along the line between them the overlap s = radius - r obeys s'' + eta s' + kappa s = 0, whatever the two masses,
/// for forces of the reduced mass times (kappa s + eta s'). With the period P of that oscillation and the restitution S
/// after half of it: eta = -4 ln(S) / P, kappa = 4 pi^2 / P^2 + eta^2 / 4.
struct ContactLaw {
  struct Options {
    double radius = 0;
    double period = 1;         ///< A contact lasts half of it.
    double restitution = 0.5;  ///< Normal velocity after a contact over that before, (0, 1].
    double softening = 0;      ///< Plummer length of their gravity.
  };
  explicit ContactLaw(const Options& options);

  double radius = 0;
  double kappa = 0;
  double eta = 0;
  double gravity_radius = 0;  ///< Softened: the mutual gravity inside is linear, as in a sphere of this size.
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

struct ContactFields {
  Field<double> mass;  ///< Also the charge of the tree, with G = 1.
  Field<Vector> velocity;
  Field<Vector> acceleration;  ///< Is added to.
  Field<double> potential;     ///< Is added to.
};

/// Places in `NearPairs::sums`: energy in springs, energy that dampers take in a unit of time.
inline constexpr std::size_t spring_sum = 0;
inline constexpr std::size_t dissipation_sum = 1;
inline constexpr std::size_t contact_sums = 2;

/// Energies of contacts over many steps, of one rank or of all.
struct ContactEnergies {
  double dissipated = 0;  ///< Lost since the beginning.
  double dissipation_rate = 0;
  double spring = 0;

  /// Takes what contacts have summed up at the end of a step of length `dt`: the loss by the trapezoidal rule.
  void advance(std::span<const double> sums, double dt);
  ContactEnergies& operator+=(const ContactEnergies& other);
};

/// For `WalkOptions::near` with the law's radius, where `TreeOptions::travels` is the velocity. Borrows `store`.
[[nodiscard]] NearFunction contacts(const ContactLaw& law, Particles& store, const ContactFields& fields);

}  // namespace plait::particles
