// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/particles/interaction.hpp"
#include "plait/particles/neighbours/short_range.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {

/// What a kernel sums up, and between which particles.
struct ShortRangeSumsOptions {
  ShortRangeOptions search;
  std::vector<AnyField> results;  ///< Set to zero before the sums. Fields of numbers for which all bytes 0 is zero.
  Space space;                    ///< The system's.
};

/// A short-range interaction of a system: a kernel over blocks of targets and of all sources near them, of whatever
/// rank; created by `System::add_short_range`.
///
/// In each step ranks exchange the extents of their cells, and send those that are near. Each target's sums are written
/// by one task alone, in an order that does not depend on workers.
class ShortRangeSums : public Interaction {
 public:
  /// The tree of the last step whose batches are its cells.
  [[nodiscard]] virtual const Tree& tree() const noexcept = 0;
};

/// Cells are those of `tree`, if there is one, which is built before; else it builds its own.
[[nodiscard]] std::unique_ptr<ShortRangeSums> make_short_range_sums(ShortRangeSumsOptions options,
                                                                    ShortRangeKernel kernel,
                                                                    const Tree* tree);

}  // namespace plait::particles
