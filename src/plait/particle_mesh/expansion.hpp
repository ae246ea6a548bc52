// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plait::particles {

/// The expansion of a flat universe of matter and a cosmological constant, by its scale factor a; today a = 1.
///
/// Particles in comoving coordinates x have momenta u = a^2 dx/dt per mass. They drift by u `drift`, and are kicked by
/// the comoving acceleration, that of `make_periodic_gravity`, times `kick`. Radiation is left out: below 1 % of matter
/// from redshift 33 on. Any unit of time, that of `hubble`. Functions cost below a microsecond, `growth` some.
/// Sources: Quinn, Katz, Stadel, Lake, "Time stepping N-body simulations", astro-ph/9710043, 1997, for the operators;
/// Heath, Mon. Not. R. Astron. Soc. 179, 1977, for the growth.
class Expansion {
 public:
  /// `hubble`: the rate of expansion today. `matter`: the share of matter today, above 0 and at most 1; the rest is the
  /// constant. Throws: `Error` with `bad_argument` for others.
  Expansion(double hubble, double matter);

  [[nodiscard]] double hubble() const noexcept { return hubble_; }
  [[nodiscard]] double matter() const noexcept { return matter_; }

  /// The rate of expansion at `a`, (da/dt) / a.
  [[nodiscard]] double rate(double a) const;
  /// The time since a = 0.
  [[nodiscard]] double time(double a) const;
  /// The integral of dt / a^2 from one scale factor to another.
  [[nodiscard]] double drift(double from, double to) const;
  /// The integral of dt / a.
  [[nodiscard]] double kick(double from, double to) const;
  /// The factor by which small disturbances of the density have grown at `a`, relative to today's.
  [[nodiscard]] double growth(double a) const;
  /// The logarithmic derivative of `growth` by `a`: 1 while matter dominates.
  [[nodiscard]] double growth_rate(double a) const;
  /// The mean density of matter in comoving volumes, for a gravitational constant.
  [[nodiscard]] double matter_density(double gravity) const;

 private:
  /// The integral of (hubble / (a rate))^3 over a, from 0.
  [[nodiscard]] double growth_integral(double a) const;

  double hubble_;
  double matter_;
};

}  // namespace plait::particles
