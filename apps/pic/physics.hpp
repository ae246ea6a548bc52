// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "pic/grid.hpp"

namespace pic {

/// What moves the particles.
enum class Forces : std::uint8_t {
  fields,         ///< The electric and magnetic field on the nodes.
  fixed_charges,  ///< Columns of charges +1 and -1 on the nodes, summed over a cell's corners (`kernel_problem.hpp`).
};

/// What makes the fields.
enum class Solve : std::uint8_t {
  electromagnetic,  ///< Maxwell's equations, from currents (`maxwell.hpp`).
  electrostatic,    ///< Poisson's equation, from charges (`poisson.hpp`).
  nothing,
};

/// Particles that are alike. Charge and mass are those of one computational particle, which stands for many.
struct Species {
  std::string name;
  double charge = 0;
  double charge_to_mass = 0;

  [[nodiscard]] double mass() const { return charge / charge_to_mass; }
};

/// What is deposited on the nodes: charges in units of a fixed quantum, as 64-bit integers. Sums of integers do not
/// depend on their order, and so nothing does on patches, ranks and placement.
using Quanta = std::int64_t;

/// The nearest integer. Exact for |value| < 2^51; two additions, so that loops of it become vectors.
[[nodiscard]] inline Quanta to_quanta(double value) {
  constexpr double magic = 0x1.8p52;
  return std::bit_cast<std::int64_t>(value + magic) - std::bit_cast<std::int64_t>(magic);
}

/// The laws of one run: the same on every rank. Units: speed of light, vacuum permittivity, electron charge and mass
/// and the plasma frequency of the reference density are 1.
template <int D>
struct Physics {
  Grid<D> grid;
  double time_step = 0;
  int order = 1;  ///< Of the particles' shape: 1 (linear) or 2 (quadratic).
  Forces forces = Forces::fields;
  Solve solve = Solve::electromagnetic;
  std::vector<Species> species;
  Vector3 magnetic_field{};  ///< Uniform and constant, added to what the solver makes.
  double quantum = 0;        ///< Charge of one quantum; see `choose_quantum`.

  /// Nodes that a patch's currents need beyond its cells, on each side (and one more on the high side).
  [[nodiscard]] std::int32_t current_guard() const { return order; }
  [[nodiscard]] std::int32_t field_guard() const { return order - 1; }

  /// A quantum so small that rounding to it is far below everything, and so large that `particles_max` particles on one
  /// node do not overflow 63 bits.
  void choose_quantum(std::uint64_t particles_max);
  /// Throws: `plait::Error` for what cannot be, such as an electromagnetic time step above the limit of Courant,
  /// Friedrichs and Lewy.
  void check() const;
  /// The longest stable electromagnetic time step: 1 / sqrt(sum of 1 / spacing^2).
  [[nodiscard]] double courant_limit() const;
};

}  // namespace pic
