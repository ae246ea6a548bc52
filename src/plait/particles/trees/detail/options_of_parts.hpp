// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/particles/trees/long_range.hpp"
#include "plait/particles/trees/tree_options.hpp"
#include "plait/particles/trees/walk.hpp"

namespace plait::particles::detail {

/// The options of a long range's trees, but for the sizes of their parts and what depends on the space.
[[nodiscard]] TreeOptions tree_options_of(const LongRangeOptions& options);

/// And of its walks.
[[nodiscard]] WalkOptions walk_options_of(const LongRangeOptions& options);

}  // namespace plait::particles::detail
