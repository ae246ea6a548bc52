// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/particles/steps/system.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

struct LeapfrogOptions {
  Field<Vector> velocity;
  Field<Vector> acceleration;  ///< What the system's interactions sum up to, and what its hooks add.
  double time_step = 0;
};

/// Has each step of `system` move its particles by a kick-drift-kick leapfrog with one force a step: half a kick and
/// the drift before its sums, half a kick after them. Velocities and positions are of the same time after each step.
/// The first needs accelerations: of `System::update`, or of the run that it goes on.
void add_leapfrog(System& system, const LeapfrogOptions& options);

}  // namespace plait::particles
