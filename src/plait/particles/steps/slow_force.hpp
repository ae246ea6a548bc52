// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "plait/particles/interaction.hpp"
#include "plait/particles/steps/integrator.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// A force that varies slowly, such as that of a mesh, with steps of its own: the longest that particles may take. It
/// is summed for all particles where its steps end, and kicks them over these (Tuckerman, Berne, Martyna, J. Chem.
/// Phys. 97, 1992; Springel, Mon. Not. R. Astron. Soc. 364, 2005, section 4.3).
struct SlowForce {
  std::unique_ptr<Interaction> sum;  ///< Its results are of no other interaction.
  std::function<void(Particles& store, std::span<const Kick> kicks)> kick;
};

}  // namespace plait::particles
