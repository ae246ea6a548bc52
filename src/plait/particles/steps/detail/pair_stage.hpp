// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/particles/neighbours/short_range.hpp"
#include "plait/particles/steps/stage.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles::detail {

/// A short-range sum over active particles.
struct PairSums {
  std::string name;
  ShortRangeOptions search;
  std::vector<AnyField> results;  ///< Of active particles, set to zero bytes before the sums.
  ShortRangeKernel kernel;
};

/// Creates the stage that sums. Borrows `store`.
[[nodiscard]] Stage make_pair_stage(Particles& store, PairSums sums, std::uint32_t workers);

}  // namespace plait::particles::detail
