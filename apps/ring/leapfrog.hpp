// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ring/body.hpp"

namespace ring {

// A step of the kick-drift-kick leapfrog: kick by dt / 2, drift by dt, forces, kick by dt / 2. The damper depends on
// velocity; at the force the tree predicts it from the half-kicked one with the acceleration of the step before, which
// keeps second order with one force a step. All of these may run on parts of the bodies at the same time.

/// Changes velocities by their accelerations over `time`.
void kick(std::span<Body> bodies, double time);
/// Moves positions with their velocities over `time`.
void drift(std::span<Body> bodies, double time);
/// `kick(bodies, dt / 2)`, then `drift(bodies, dt)`, in one pass and to the same bits.
void kick_and_drift(std::span<Body> bodies, double dt);

}  // namespace ring
