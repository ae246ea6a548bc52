// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plait/particles/interaction.hpp"
#include "plait/particles/steps/integrator.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// A force that varies slowly, such as that of a mesh, with steps of its own: the longest that particles may take. It
/// is summed for all particles where its steps end, and kicks them over these (Tuckerman, Berne, Martyna, J. Chem.
/// Phys. 97, 1992; Springel, Mon. Not. R. Astron. Soc. 364, 2005, section 4.3).
struct SlowForce {
  std::unique_ptr<Interaction> sum;
  std::vector<AnyField> results;  ///< The fields that `sum` adds to: of no other interaction.
  std::vector<AnyField> forces;   ///< Those of them that `kick` and `predict` read: `System::synchronise` keeps them.
  /// Any worker calls it and `predict`, concurrently for different particles.
  std::function<void(Particles& store, std::span<const Kick> kicks)> kick;
  /// Changes the integrator's predictions by this force over durations of kicks, which may be negative. Required if the
  /// integrator has predictions (`Integrator::predicted`).
  std::function<void(Particles& store, std::span<const Kick> kicks)> predict = {};
};

}  // namespace plait::particles
