// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "pic/grid.hpp"

namespace pic {

/// What exerts forces on the particles.
enum class Forces : std::uint8_t {
  fields,         ///< The electric and magnetic field on the nodes.
  fixed_charges,  ///< Columns of charges +1 and -1 on the nodes, summed over a cell's corners (`kernel_problem.hpp`).
};

/// What the fields follow from.
enum class Solve : std::uint8_t {
  electromagnetic,  ///< Maxwell's equations, from currents (`maxwell.hpp`).
  electrostatic,    ///< Poisson's equation, from charges (`poisson.hpp`).
  nothing,
};

/// A kind of particles. Charge and mass are those of one macroparticle.
struct Species {
  std::string name;
  double charge = 0;
  double charge_to_mass = 0;

  [[nodiscard]] double mass() const { return charge / charge_to_mass; }
};

/// Charges that are deposited on the nodes, in units of a fixed quantum. Integer sums do not depend on their order, so
/// results do not depend on patches, ranks and placement.
using Quanta = std::int64_t;

/// Rounds to the nearest integer. Exact for |value| < 2^51. It consists of two additions, so that loops vectorise.
[[nodiscard]] inline Quanta to_quanta(double value) {
  constexpr double magic = 0x1.8p52;
  return std::bit_cast<std::int64_t>(value + magic) - std::bit_cast<std::int64_t>(magic);
}

/// The physics of one run, the same on every rank. Units: speed of light, vacuum permittivity, electron charge and mass
/// and the plasma frequency of the reference density are 1.
template <int D>
struct Physics {
  Grid<D> grid;
  double time_step = 0;
  int order = 1;  ///< Of the particles' shape: 1 (linear) or 2 (quadratic).
  Forces forces = Forces::fields;
  Solve solve = Solve::electromagnetic;
  std::vector<Species> species;
  Vector3 magnetic_field{};  ///< Uniform and constant, added to the solver's.
  double quantum = 0;        ///< Charge of one quantum; see `choose_quantum`.

  /// Guard nodes of a patch's currents on each side; one more on the high side.
  [[nodiscard]] std::int32_t current_guard() const { return order; }
  [[nodiscard]] std::int32_t field_guard() const { return order - 1; }

  /// Sets the smallest quantum with which `particles_max` particles on one node do not overflow. Throws: `plait::Error`
  /// when there are too many.
  void choose_quantum(std::uint64_t particles_max);
  /// Checks all values. Throws: `plait::Error`, such as for an electromagnetic time step above the limit of Courant,
  /// Friedrichs and Lewy.
  void check() const;
  /// The longest stable electromagnetic time step: 1 / sqrt(sum of 1 / spacing^2).
  [[nodiscard]] double courant_limit() const;
  /// Along each axis, the factor from quanta that cross a face in a step to a current density.
  [[nodiscard]] Vector3 current_factors() const;
};

}  // namespace pic
