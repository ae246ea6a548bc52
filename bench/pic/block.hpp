// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pic/parallel/collection_way.hpp"
#include "pic/ranks.hpp"
#include "pic/way.hpp"

namespace bench {

/// The times of a block of steps on the slowest rank, in seconds a step.
struct BlockTimes {
  double step = 0;
  double particles = 0;  ///< The particle phase: handing particles over, waiting for ranks with more, and balancing.
  double lending = 0;    ///< Fields to patches, charges and currents to the solver.
};

/// Runs steps, which all ranks begin at the same time. Collective.
[[nodiscard]] BlockTimes run_block(pic::GridWay<2>& way, pic::Ranks& ranks, int steps);

/// The seconds a step that patches took, over a block of steps.
struct BlockLoads {
  double mean = 0;      ///< Of the ranks.
  double largest = 0;   ///< Of the ranks.
  double heaviest = 0;  ///< Of the patches.

  /// No placement takes less.
  [[nodiscard]] double optimum() const noexcept { return mean > heaviest ? mean : heaviest; }
  /// max/mean - 1.
  [[nodiscard]] double imbalance() const noexcept { return mean > 0 ? largest / mean - 1 : 0; }
};

/// Takes the loads of the `steps` steps since the last call. Collective.
[[nodiscard]] BlockLoads take_loads(pic::CollectionWay<2>& way, pic::Ranks& ranks, int steps);

}  // namespace bench
