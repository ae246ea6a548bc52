// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "plait/particles/interaction.hpp"
#include "plait/particles/neighbours/short_range.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {

struct ShortRangeSumsOptions {
  ShortRangeOptions search;
  std::vector<AnyField> results;  ///< Set to zero bytes before the sums.
  ShortRangeKernel kernel;
};

/// A short-range interaction of a system.
class ShortRange : public Interaction {
 public:
  /// The copies of other ranks' particles that were near to this rank's in the last step, with position, kind, reach
  /// and the fields that travel. Valid until the next step.
  [[nodiscard]] virtual const Particles& ghosts() const noexcept = 0;
};

/// Creates the short-range interaction of `System::add_short_range`: a kernel over blocks of targets and of all sources
/// near them, on any rank. The batches of `tree`, which is built before, are its cells; null: it builds a tree.
///
/// In each step ranks exchange the extents of their cells, then near cells. One task writes the sums of a target, in an
/// order that does not depend on workers.
[[nodiscard]] std::unique_ptr<ShortRange> make_short_range_sums(ShortRangeSumsOptions options, const Tree* tree);

}  // namespace plait::particles
