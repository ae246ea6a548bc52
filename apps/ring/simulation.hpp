// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "ring/ring.hpp"

namespace ring {

/// The conserved quantities: the energy, with the energy that contacts have dissipated, and the angular momentum about
/// the axis.
struct Diagnostics {
  double energy = 0;
  double angular_momentum = 0;
};

/// The domain decomposition of the ring.
struct Sharing {
  std::uint32_t radial = 1;  ///< Domains in radius and height; the rest is in azimuth.
  std::uint32_t vertical = 1;
  std::uint32_t steps_between = 4;  ///< Decompositions; 0: never.
};

/// A ring on the ranks of a runtime, by a kick-drift-kick leapfrog with one force a step. All functions that compute
/// are collective, and throw as `plait::Runtime::run`.
class Simulation {
 public:
  /// Borrows `bodies`, which may be on any ranks. Computes a first force unless `state` is of a run that continues.
  /// Throws: `app::AgreedError` on every rank when there are fewer bodies than ranks, or fewer than 2, or two bodies at
  /// the same place.
  Simulation(plait::Runtime& runtime, Bodies& bodies, const RunState& state, const Sharing& sharing);

  void step();

  /// The state; the energies of contacts are this rank's.
  [[nodiscard]] const RunState& state() const noexcept { return state_; }
  /// The state and the diagnostics of all ranks, the same on each.
  [[nodiscard]] RunState whole_state();
  [[nodiscard]] Diagnostics diagnose();
  /// The times of this rank's steps since the last call.
  [[nodiscard]] plait::particles::StepTimes take_times() { return system_.take_times(); }

 private:
  [[nodiscard]] plait::particles::LongRangeOptions gravity_with_contacts();
  void attract_to_centre(std::size_t first, std::size_t last);

  plait::Runtime& runtime_;
  Bodies& bodies_;
  RunState state_;
  std::optional<Field<Vector>> predicted_;  ///< Velocities, for the dampers of contacts.
  plait::particles::System system_;
  plait::particles::LongRange& gravity_;
};

}  // namespace ring
