// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/data/balance/problem.hpp"

namespace plait::data::balance {

/// How good a placement is. Loads and costs in seconds a phase.
struct Score {
  double load_max = 0;  ///< Of the rank with most: its objects and its background.
  double load_mean = 0;
  double cost_max = 0;             ///< As `load_max`, with what its bytes cost: what balancers make small.
  double bytes_between_ranks = 0;  ///< A phase, all edges whose ends are on two ranks; those between nodes too.
  double bytes_between_nodes = 0;
  double memory_max = 0;  ///< Bytes of the objects of the rank with most.
  std::uint64_t objects_moved = 0;
  double bytes_moved = 0;

  /// Imbalance, max/mean - 1: 0 is perfect, also when no rank has any load.
  [[nodiscard]] double imbalance() const noexcept { return load_mean > 0 ? load_max / load_mean - 1.0 : 0.0; }
};

/// Throws: `Error` with `bad_argument`, naming the object, for loads, bytes or backgrounds that are NaN, infinite or
/// negative, ranks or ends of edges that do not exist, and lists by rank of another length than `rank_count`.
void check(const Problem& problem);

/// Where everything is now.
[[nodiscard]] Placement present_placement(const Problem& problem);

/// By rank: its background and its objects.
[[nodiscard]] std::vector<double> rank_loads(const Problem& problem, const Placement& placement);

/// By rank: load, and what its bytes cost. Both ends of an edge between two ranks pay for all its bytes, as one sends
/// and the other receives; so do both ranks of an object that moves.
[[nodiscard]] std::vector<double> rank_costs(const Problem& problem, const Placement& placement);

/// Cost: objects and edges. Expects: the placement names a rank of the problem for each object.
[[nodiscard]] Score score(const Problem& problem, const Placement& placement);

/// No placement has a `load_max` below this. The largest of: the mean; each rank's background with what cannot leave
/// it; the heaviest object; and, for each k, the k + 1 lightest of the k * ranks + 1 heaviest objects, two of
/// which must meet (the pigeonhole bound for objects of any loads). Cost: sorting the objects.
[[nodiscard]] double load_bound(const Problem& problem);

}  // namespace plait::data::balance
