// SPDX-License-Identifier: Apache-2.0
// What balancers that see the whole problem share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/data/balance/problem.hpp"

namespace plait::data::balance::detail {

/// The objects that may move, the heaviest first; of equal ones the one that comes earlier.
[[nodiscard]] std::vector<std::uint32_t> heaviest_first(const Problem& problem);

/// By rank: the background and what cannot leave.
[[nodiscard]] std::vector<double> fixed_loads(const Problem& problem);
/// By rank: bytes of what is there and cannot leave.
[[nodiscard]] std::vector<double> fixed_bytes(const Problem& problem);

/// Whether what objects send to each other costs anything.
[[nodiscard]] bool has_edge_costs(const Problem& problem);

/// Exchanges whole ranks' objects between ranks where nothing is fixed, so that most bytes are where they are now.
/// Loads of ranks change places, nothing else changes. Where edges cost, does nothing.
void keep_home(const Problem& problem, Placement& placement);

/// `proposed` if its largest cost is less than now's, and no rank has more than the limit of memory that did not have
/// as much before; otherwise what is now.
[[nodiscard]] Placement if_better(const Problem& problem, Placement proposed);

/// Edges by object: those of object i are `at[begin[i]]` to `at[begin[i + 1] - 1]`.
struct Neighbours {
  struct End {
    std::uint32_t object;
    double bytes;
  };
  explicit Neighbours(const Problem& problem);
  [[nodiscard]] std::span<const End> of(std::uint32_t object) const {
    return std::span{at}.subspan(begin[object], begin[object + 1] - begin[object]);
  }

  std::vector<std::uint32_t> begin;
  std::vector<End> at;
};

/// What a byte between two ranks costs.
[[nodiscard]] inline double byte_cost(const Problem& problem, Rank first, Rank second) {
  if (first == second) {
    return 0;
  }
  const bool is_within =
      problem.node_of_rank.empty() || problem.node_of_rank[first.value()] == problem.node_of_rank[second.value()];
  return is_within ? problem.weights.between_ranks : problem.weights.between_nodes;
}

}  // namespace plait::data::balance::detail
