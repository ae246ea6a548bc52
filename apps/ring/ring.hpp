// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

namespace ring {

using plait::particles::Field;
using plait::particles::Order;
using plait::particles::Particles;
using plait::particles::Vector;

/// The parameters of a run, which snapshots store. Units: G = 1, central mass 1.
struct Parameters {
  double central_mass = 1;
  double time_step = 1.0 / 1024;
  double theta = 0.5;      ///< Opening angle; 0 sums directly.
  double force_error = 0;  ///< If positive, the angle is that of this error (`LongRangeOptions::force_error`).
  Order order = Order::quadrupole;
  double softening = 0;                ///< Plummer length between bodies.
  double collision_radius = 0;         ///< Bodies closer than this are in contact; 0: no contacts.
  double restitution = 0.5;            ///< Normal velocity after a contact over that before, (0, 1].
  double contact_steps = 32;           ///< Period of the contact's oscillation in steps; a contact lasts half.
  std::uint32_t leaf_bodies_max = 0;   ///< 0: by the processor (`LongRangeOptions`).
  std::uint32_t group_bodies_max = 0;  ///< The same.
};

/// The state of a run besides its bodies, as a restart needs it.
struct RunState {
  double time = 0;
  std::uint64_t step = 0;
  double energy_begin = 0;  ///< Total at the beginning, for the energy check.
  plait::particles::ContactEnergies contacts;
  Parameters parameters;
  plait::particles::DomainGrid grid = {0, 0, 0};
  std::vector<double> cuts;  ///< Of the domains of all ranks.
  /// Each rank has the bodies of that rank of the run that wrote the file. Not in files.
  bool is_in_place = false;
};

/// The bodies of one rank.
struct Bodies {
  Particles store;
  Field<double> mass = store.add_field<double>("mass");
  Field<double> potential =
      store.add_field<double>("potential");  ///< Of the bodies' gravity, without centre and springs.
  Field<Vector> velocity = store.add_field<Vector>("velocity");
  Field<Vector> acceleration = store.add_field<Vector>("acceleration");  ///< By centre, bodies and contacts.
};

/// A narrow ring about the central mass: circles of equally spaced bodies.
struct RingShape {
  std::uint32_t azimuthal = 1000;  ///< Bodies on each circle.
  std::uint32_t radial = 20;       ///< Circles, from radius `inner` to `inner + width`.
  std::uint32_t layers = 1;        ///< Copies above each other, over `thickness`, about z = 0.
  double inner = 1.0;
  double width = 0.1;
  double thickness = 0;
  double total_mass = 5e-5;
  double central_mass = 1;
  double velocity_scatter = 0;  ///< Standard deviation of each component, in circular velocities.
  std::uint64_t seed = 1;
};

/// Adds share `rank` of `ranks` of the ring's bodies, a sector in azimuth. The bodies do not depend on the number of
/// ranks. Ids count from 1. Throws: `plait::Error` for an impossible shape.
void make_ring(const RingShape& shape, Bodies& bodies, std::uint32_t rank = 0, std::uint32_t ranks = 1);

}  // namespace ring
