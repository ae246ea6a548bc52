// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/particles/trees/kernels/kernel.hpp"
#include "plait/particles/trees/tree_options.hpp"
#include "plait/particles/trees/walk.hpp"

namespace plait::particles {

/// The largest numbers of bodies of the parts of a tree.
struct TreeSizes {
  std::uint32_t leaf = 0;
  std::uint32_t group = 0;
  std::uint32_t batch = 0;
};

/// What the sizes of a tree depend on.
struct TreeUse {
  const Kernels& kernels;
  Precision precision = Precision::full;
  Order order = Order::quadrupole;
  std::size_t body_count = 0;
  std::uint32_t worker_count = 1;
  std::uint32_t uses_of_lists = 1;  ///< The steps that use the interaction lists of one build.
};

/// Returns sizes by which walks with these kernels are fast, from the width of their vectors: wide vectors make direct
/// pairs cheap beside the walk for a group. Groups are smaller where lists are reused, as these save most of the walks.
/// In a uniform sphere, clumps and a ring they take 1 to 5 % longer than the best sizes of each (`plait bench
/// tree_sizes`). Equal arguments give equal sizes.
///
/// With several workers, batches are small enough for each worker to walk for several, as they are the tasks of a walk.
/// Forces do not depend on the size of batches, except for rounding.
[[nodiscard]] TreeSizes sizes_for(const TreeUse& use);

}  // namespace plait::particles
