// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/trees/tree.hpp"
#include "plait/particles/trees/walk.hpp"

namespace plait::particles {

/// How large the parts of a tree are; see `TreeOptions`. Small ones have shorter lists, large ones fewer walks.
struct TreeSizes {
  std::uint32_t leaf_bodies_max = 8;
  std::uint32_t group_bodies_max = 64;
  std::uint32_t batch_bodies_max = 1024;

  friend bool operator==(const TreeSizes&, const TreeSizes&) = default;
};

[[nodiscard]] TreeSizes sizes_of(const TreeOptions& options);
void set_sizes(TreeOptions& options, const TreeSizes& sizes);

/// Whom a trial pulls, and the fields that it uses as it likes: these, and the costs.
struct TrialTargets {
  Particles& store;
  Kinds kinds;
  Field<Vector> acceleration;
  Field<double> potential;
};

/// Which sizes are fastest here: builds a tree of each of a few, those of `tree` among them, and walks it for some of
/// its batches. Brings the store into the order of a tree. `WalkOptions::near` is not called.
/// Cost: some ten builds and half a step. Throws: as `Tree::build`.
[[nodiscard]] TreeSizes fastest_sizes(const TrialTargets& targets, const TreeOptions& tree, const WalkOptions& walk);

}  // namespace plait::particles
