// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/data/balance/problem.hpp"

namespace plait::data::balance::detail {

/// For few objects: tries every placement, the heaviest object first, and cuts off what cannot be better than the best
/// so far (Korf, "A complete anytime algorithm for number partitioning", 1998). Ends at a largest load of `goal`, or
/// after `tries` objects placed. True when that is better than `placement`, which it then is.
///
/// Does nothing where there are more than 32 objects or ranks, memory has a limit, or moving or edges cost.
bool try_all_placements(const Problem& problem, Placement& placement, double goal, std::uint64_t tries);

}  // namespace plait::data::balance::detail
