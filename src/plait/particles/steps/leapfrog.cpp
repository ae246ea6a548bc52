// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/leapfrog.hpp"

#include "plait/particles/steps/integrator.hpp"

namespace plait::particles {

void add_leapfrog(System& system, const LeapfrogOptions& options) {
  system.integrate(leapfrog({.velocity = options.velocity, .acceleration = options.acceleration}));
  system.take_steps({.step = options.time_step});
}

}  // namespace plait::particles
