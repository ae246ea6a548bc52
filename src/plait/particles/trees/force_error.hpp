// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/particles/trees/tree.hpp"
#include "plait/particles/trees/tuning.hpp"
#include "plait/particles/trees/walk.hpp"

namespace plait::particles {

/// Returns the largest opening angle of `tree` whose forces have at most the error `wanted`: the root mean square of
/// the error over that of the force. The result is from 0.05 to 1.5; below `wanted`'s own rounding it is 0.05.
///
/// Compares the forces on some groups of these particles with direct sums in double precision, at a few angles. Forces
/// are those of the particles given, which are one rank's. Overwrites sums and reorders the store, as
/// `with_fastest_sizes`. Does not call `WalkOptions::near`. Expects: `wanted` is positive. Throws: as
/// `TreeBuild::build`. Cost: up to eight builds, and direct sums for about 500 particles.
[[nodiscard]] double theta_of_error(const TrialTargets& targets,
                                    const TreeOptions& tree,
                                    const WalkOptions& walk,
                                    double wanted);

}  // namespace plait::particles
