// SPDX-License-Identifier: Apache-2.0
// Shared by balancers that see the whole problem.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/data/balance/balancer.hpp"

namespace plait::data::balance::detail {

/// The migratable objects by falling load, then by number.
[[nodiscard]] std::vector<std::uint32_t> heaviest_first(const Problem& problem);

/// By rank: the background, and the loads of objects that are not migratable.
[[nodiscard]] std::vector<double> fixed_loads(const Problem& problem);
/// By rank: the bytes of objects that are not migratable.
[[nodiscard]] std::vector<double> fixed_bytes(const Problem& problem);

/// Whether bytes between ranks cost anything.
[[nodiscard]] bool has_edge_costs(const Problem& problem);

/// Permutes the ranks that hold no fixed object or background, so that most bytes stay on their present rank. Does
/// nothing where edges have costs.
void keep_home(const Problem& problem, Placement& placement);

/// Moves objects off ranks whose bytes exceed `memory_max`, the largest first: to the rank with least load that has
/// room, else back home. Then no rank has more bytes than the limit, or than at present where that is more.
void respect_memory(const Problem& problem, Placement& placement);

/// Returns `proposed` if its largest cost is below the present one and no rank exceeds the limit of memory further than
/// at present; else the present placement.
[[nodiscard]] Placement if_better(const Problem& problem, Placement proposed);

/// Sets rounds, messages and bytes to those of a gather to rank 0 along a tree, and a scatter of the placement.
void count_as_gathered(const Problem& problem, Decision& decision);

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

/// The cost of a byte between two ranks; 0 within one.
[[nodiscard]] inline double byte_cost(const Problem& problem, Rank first, Rank second) {
  if (first == second) {
    return 0;
  }
  const bool is_within =
      problem.node_of_rank.empty() || problem.node_of_rank[first.value()] == problem.node_of_rank[second.value()];
  return is_within ? problem.weights.between_ranks : problem.weights.between_nodes;
}

}  // namespace plait::data::balance::detail
