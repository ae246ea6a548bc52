// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/data/balance/problem.hpp"

namespace plait::data::balance {

/// The quality of a placement. Loads and costs are in seconds a phase.
struct Score {
  double load_max = 0;  ///< Objects and background of the most loaded rank.
  double load_mean = 0;
  double cost_max = 0;             ///< As `load_max`, with the cost of bytes: what balancers minimise.
  double bytes_between_ranks = 0;  ///< A phase: all edges between two ranks, also those between nodes.
  double bytes_between_nodes = 0;
  double memory_max = 0;  ///< The most bytes of objects on one rank.
  std::uint64_t objects_moved = 0;
  double bytes_moved = 0;

  /// Imbalance, max/mean - 1: 0 is perfect, also when no rank has any load.
  [[nodiscard]] double imbalance() const noexcept { return load_mean > 0 ? load_max / load_mean - 1.0 : 0.0; }
};

/// Throws: `Error` with `bad_argument`, naming the object, for loads, bytes or backgrounds that are NaN, infinite or
/// negative, ranks or ends of edges that do not exist, and lists by rank of another length than `rank_count`.
void check(const Problem& problem);

/// The present rank of each object.
[[nodiscard]] Placement present_placement(const Problem& problem);

/// The load of each rank: its background and its objects.
[[nodiscard]] std::vector<double> rank_loads(const Problem& problem, const Placement& placement);

/// The bytes of each rank's objects.
[[nodiscard]] std::vector<double> rank_bytes(const Problem& problem, const Placement& placement);

/// The load of each rank and the cost of its bytes. An edge between two ranks costs both of them all its bytes, as one
/// sends and the other receives; an object that moves also costs both ranks.
[[nodiscard]] std::vector<double> rank_costs(const Problem& problem, const Placement& placement);

/// Cost: linear in objects and edges. Expects: the placement names a rank of the problem for each object.
[[nodiscard]] Score score(const Problem& problem, const Placement& placement);

/// Returns a lower bound of `load_max` over all placements. It is the largest of: the mean; each rank's background with
/// the objects that cannot leave it; the heaviest object; and, for each k, the k + 1 lightest of the k * ranks + 1
/// heaviest objects, as so many share a rank (pigeonhole bound). Cost: sorting the objects.
[[nodiscard]] double load_bound(const Problem& problem);

}  // namespace plait::data::balance
