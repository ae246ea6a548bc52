// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/particles/steps/system.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// The motion of a free particle in Hill's approximation, without error at any duration.
///
/// The frame turns with a circular orbit of `frequency`, with x outwards, y along the orbit and z along the axis:
/// x'' = 2 w y' + 3 w^2 x, y'' = -2 w x', z'' = -w^2 z. Wisdom and Tremaine, Astronomical Journal 95 (1988) 925.
class Epicycle {
 public:
  Epicycle(double frequency, double duration);
  void advance(Vector& position, Vector& velocity) const;

 private:
  double frequency_;
  double duration_;
  double sine_;
  double cosine_;
};

struct HillOptions {
  Field<Vector> velocity;      ///< In the frame that turns.
  Field<Vector> acceleration;  ///< To which interactions add; without the terms of the frame.
  double frequency = 1;
  double time_step = 0;
};

/// Adds a kick-drift-kick leapfrog whose drift is that of free particles in a disc (`Epicycle`), for a shearing box of
/// rate 3/2 `frequency`. Otherwise as `add_leapfrog`. Call `System::set_time` before each step.
void add_hill_leapfrog(System& system, const HillOptions& options);

}  // namespace plait::particles
