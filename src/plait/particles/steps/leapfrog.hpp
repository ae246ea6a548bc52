// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/particles/steps/system.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

struct LeapfrogOptions {
  Field<Vector> velocity;
  Field<Vector> acceleration;  ///< To which interactions and the functions of `System::when_summed` add.
  double time_step = 0;
};

/// Adds a leapfrog of fixed steps to `system` (`System::integrate`). Velocities and positions are synchronous after
/// each step. The first step reads accelerations: call `System::update` before it, or restore those of an earlier run.
void add_leapfrog(System& system, const LeapfrogOptions& options);

}  // namespace plait::particles
