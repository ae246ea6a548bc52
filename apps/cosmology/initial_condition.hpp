// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cosmology/displacements.hpp"
#include "cosmology/linear_power.hpp"
#include "cosmology/universe.hpp"

namespace cosmology {

/// The particles of an initial condition: a lattice of `particles`^3, displaced by Lagrangian perturbation
/// theory (`Displacements`). Waves depend on the seed alone, and not on the ranks: more particles add shorter ones.
struct InitialShape {
  std::uint32_t particles = 64;  ///< Along an axis.
  double box = 200;              ///< The edge, in Mpc.
  double redshift = 49;
  Universe universe;
  PowerShape power;
  Order order = Order::second;
  std::uint64_t seed = 1;
  /// All waves have their mean strength, and random phases only (Angulo, Pontzen, Mon. Not. R. Astron. Soc. 462, 2016).
  bool is_fixed = false;
  /// If positive, one plane wave along x as long as the box, whose particles would meet at this scale factor.
  double wave_crossing = 0;
};

/// Adds this rank's share of the particles to `bodies`, with momenta. Ids count from 1. Collective.
/// Throws: `plait::Error` for an impossible shape; as the transforms.
void make_initial_condition(plait::Runtime& runtime, const InitialShape& shape, Bodies& bodies);

}  // namespace cosmology
