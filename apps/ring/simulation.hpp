// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "ring/ring.hpp"

namespace ring {

/// What does not change but for the integrator's error: all energies, with what contacts have taken, and the angular
/// momentum about the axis.
struct Diagnostics {
  double energy = 0;
  double angular_momentum = 0;
};

/// How ranks share the ring.
struct Sharing {
  std::uint32_t radial = 1;  ///< Domains in radius and height; the rest is in azimuth.
  std::uint32_t vertical = 1;
  std::uint32_t steps_between = 4;  ///< Decompositions; 0: never.
};

/// A ring on the ranks of a runtime, by a kick-drift-kick leapfrog with one force a step. All ranks call the same
/// functions in the same order. Throw `plait::Error` as `plait::Runtime::run`.
class Simulation {
 public:
  /// `bodies` must stay; any of them on any rank. No force is computed first when `state` is of a run that goes on.
  /// Throws, on every rank alike: `app::AgreedError` when there are fewer bodies than ranks, or fewer than 2, or two at
  /// one place.
  Simulation(plait::Runtime& runtime, Bodies& bodies, const RunState& state, const Sharing& sharing);

  void step();

  /// Its energies are those of this rank's contacts.
  [[nodiscard]] const RunState& state() const noexcept { return state_; }
  /// Of all ranks; the same on each. Collective, as those below.
  [[nodiscard]] RunState whole_state();
  [[nodiscard]] Diagnostics diagnose();
  /// What this rank's steps since the last call have cost.
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
