// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <type_traits>

#include "ring/body.hpp"
#include "ring/forces.hpp"

namespace ring {

/// Energies and angular momentum. Those of parts (ranks, tasks) are added.
struct Diagnostics {
  double kinetic = 0;
  double central_potential = 0;
  double self_potential = 0;  ///< Each pair once.
  double spring = 0;
  double dissipated = 0;  ///< Lost in contacts since the beginning.
  double mass = 0;
  Vector angular_momentum;
  Vector momentum;

  /// What does not change but for the integrator's error: all energies, with what contacts have taken.
  [[nodiscard]] double total() const { return kinetic + central_potential + self_potential + spring + dissipated; }
  Diagnostics& operator+=(const Diagnostics& other);
};
static_assert(std::is_trivially_copyable_v<Diagnostics>, "travels in reductions, as doubles");

/// Of bodies whose velocities and forces are of the same time. Springs and dissipation are not theirs to know: set
/// `spring` from `ForceSums::spring_energy` and `dissipated` from `Dissipation`.
[[nodiscard]] Diagnostics diagnose(std::span<const Body> bodies, double central_mass);

/// Energy lost in contacts, integrated by the trapezoidal rule. Part of the state that a restart needs.
struct Dissipation {
  double energy = 0;
  double rate = 0;  ///< At the last force.

  /// After the force at the end of a step.
  void advance(double rate_now, double dt) {
    energy += (rate + rate_now) * (dt / 2);
    rate = rate_now;
  }
};

}  // namespace ring
