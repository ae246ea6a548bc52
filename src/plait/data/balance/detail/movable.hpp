// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/problem.hpp"

namespace plait::data::balance::detail {

/// What may move, and what stays on each rank whatever is decided.
struct Movable {
  std::vector<std::uint32_t> objects;  ///< Numbers in the problem, rising.
  std::vector<double> background;      ///< By rank: the problem's, and the objects that are not migratable.
  bool has_load = false;               ///< Whether any of `objects` has; without, there is nothing to go by.
};
[[nodiscard]] Movable movable(const Problem& problem);

/// Moves objects of ranks that would keep more than `memory_max` elsewhere: the largest first, to the rank with least
/// load that has room, else home. After that no rank keeps more than the limit, or than it keeps now where that is
/// more.
void respect_memory(const Problem& problem, Placement& placement);

/// Sets rounds, messages and bytes to those of sending every object along a tree to rank 0, and every place back.
void count_as_gathered(const Problem& problem, Decision& decision);

}  // namespace plait::data::balance::detail
