// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ring {

/// How far the mass in a cell is expanded.
enum class Order : std::uint8_t { monopole = 1, quadrupole = 2 };

/// What determines a run's result besides its bodies; goes into the snapshot.
struct Parameters {
  double central_mass = 1;
  double time_step = 1.0 / 1024;
  double theta = 0.5;  ///< Opening angle; 0 sums directly.
  Order order = Order::quadrupole;
  double softening = 0;         ///< Plummer length between bodies.
  double collision_radius = 0;  ///< Bodies closer than this are in contact; 0: no contacts.
  double restitution = 0.5;     ///< Normal velocity after a contact over that before, (0, 1].
  double contact_steps = 32;    ///< Period of the contact's oscillation in steps; a contact lasts half.
  std::uint32_t leaf_bodies_max = 8;
  std::uint32_t group_bodies_max = 64;

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

}  // namespace ring
