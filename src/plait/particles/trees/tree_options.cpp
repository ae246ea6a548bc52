// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tree_options.hpp"

namespace plait::particles {

Box target_box(const Box& box, float reach, const TreeOptions& options) {
  if (!options.near_reach || options.near_search == Search::scatter) {
    return box;
  }
  const auto wide = static_cast<double>(reach);
  const Vector margin{wide, wide, wide};
  return {box.low - margin, box.high + margin};
}

}  // namespace plait::particles
