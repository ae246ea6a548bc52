// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/trees/tree.hpp"
#include "plait/particles/trees/walk.hpp"

namespace plait::particles {

/// The particles of trial walks, and the fields that these overwrite, besides the costs.
struct TrialTargets {
  Particles& store;
  Kinds kinds;
  Field<Vector> acceleration;
  Field<double> potential;
};

/// Returns `tree` with the sizes of leaves, groups and batches that are fastest for these particles.
///
/// Measures some sizes, including those of `tree`: builds a tree and walks over some of its batches, for a step with
/// new interaction lists and `uses_of_lists` - 1 steps that reuse them. Reorders the store. Does not call
/// `WalkOptions::near`. Throws: as `TreeBuild::build`. Cost: about ten builds and half a step.
[[nodiscard]] TreeOptions with_fastest_sizes(const TrialTargets& targets,
                                             const TreeOptions& tree,
                                             const WalkOptions& walk,
                                             std::uint32_t uses_of_lists = 1);

}  // namespace plait::particles
