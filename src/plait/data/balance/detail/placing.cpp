// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/placing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "plait/data/balance/detail/load_order.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance::detail {

std::vector<std::uint32_t> heaviest_first(const Problem& problem) {
  std::vector<LoadOf> order;
  order.reserve(problem.objects.size());
  for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
    if (problem.objects[i].is_migratable) {
      order.push_back({problem.objects[i].load, i});
    }
  }
  sort_heaviest_first(order);
  std::vector<std::uint32_t> objects(order.size());
  std::ranges::transform(order, objects.begin(), &LoadOf::number);
  return objects;
}

std::vector<double> fixed_loads(const Problem& problem) {
  std::vector<double> loads = problem.background;
  loads.resize(problem.rank_count, 0.0);
  for (const Object& object : problem.objects) {
    if (!object.is_migratable) {
      loads[object.rank.value()] += object.load;
    }
  }
  return loads;
}

std::vector<double> fixed_bytes(const Problem& problem) {
  std::vector<double> bytes(problem.rank_count, 0.0);
  for (const Object& object : problem.objects) {
    if (!object.is_migratable) {
      bytes[object.rank.value()] += object.bytes;
    }
  }
  return bytes;
}

bool has_edge_costs(const Problem& problem) {
  return !problem.edges.empty() && (problem.weights.between_ranks > 0 || problem.weights.between_nodes > 0);
}

namespace {

/// Two ranks: what is now on the one is placed on the other.
struct Kept {
  std::uint32_t now;
  std::uint32_t placed;
};

/// All pairs of free ranks that have an object in common, those with most bytes first.
std::vector<Kept> kept_by_pairs(const Problem& problem, const Placement& placement, const std::vector<bool>& is_free) {
  std::vector<std::uint32_t> begin(problem.rank_count + 1, 0);  // of the objects of each rank, in `by_rank`
  for (const Object& object : problem.objects) {
    ++begin[object.rank.value() + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  std::vector<std::uint32_t> by_rank(placement.size());
  for (std::uint32_t i = 0; i < by_rank.size(); ++i) {
    by_rank[next[problem.objects[i].rank.value()]++] = i;
  }
  std::vector<Kept> pairs;
  std::vector<LoadOf> bytes;                                    // of pairs
  std::vector<std::uint32_t> pair_of(problem.rank_count, ~0U);  // by the placed rank, of the present one
  for (std::uint32_t now = 0; now < problem.rank_count; ++now) {
    const std::size_t first = pairs.size();
    for (std::uint32_t at = begin[now]; is_free[now] && at < begin[now + 1]; ++at) {
      const std::uint32_t placed = placement[by_rank[at]].value();
      if (!is_free[placed]) {
        continue;
      }
      if (pair_of[placed] == ~0U) {
        pair_of[placed] = static_cast<std::uint32_t>(pairs.size());
        bytes.push_back({0, pair_of[placed]});
        pairs.push_back({now, placed});
      }
      bytes[pair_of[placed]].load += problem.objects[by_rank[at]].bytes + 1e-9;  // also objects without bytes count
    }
    for (std::size_t i = first; i < pairs.size(); ++i) {
      pair_of[pairs[i].placed] = ~0U;
    }
  }
  sort_heaviest_first(bytes);
  std::vector<Kept> sorted(pairs.size());
  std::ranges::transform(bytes, sorted.begin(), [&](const LoadOf& one) { return pairs[one.number]; });
  return sorted;
}

}  // namespace

void keep_home(const Problem& problem, Placement& placement) {
  if (has_edge_costs(problem)) {
    return;
  }
  std::vector<bool> is_free(problem.rank_count);
  const std::vector<double> fixed = fixed_loads(problem);
  const std::vector<double> held = fixed_bytes(problem);
  for (std::size_t rank = 0; rank < fixed.size(); ++rank) {
    is_free[rank] = fixed[rank] == 0 && held[rank] == 0;
  }
  const std::vector<Kept> kept = kept_by_pairs(problem, placement, is_free);
  std::vector<Rank> becomes(problem.rank_count);
  std::vector<bool> is_taken(problem.rank_count);
  for (const auto& [now, placed] : kept) {
    if (!becomes[placed] && !is_taken[now]) {
      becomes[placed] = Rank{now};
      is_taken[now] = true;
    }
  }
  std::uint32_t next = 0;
  for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
    if (!is_free[rank]) {
      becomes[rank] = Rank{rank};
    } else if (!becomes[rank]) {
      while (is_taken[next] || !is_free[next]) {
        ++next;
      }
      becomes[rank] = Rank{next};
      is_taken[next] = true;
    }
  }
  for (Rank& rank : placement) {
    rank = becomes[rank.value()];
  }
}

Placement if_better(const Problem& problem, Placement proposed) {
  Placement now = present_placement(problem);
  if (proposed == now) {
    return now;
  }
  if (std::isfinite(problem.memory_max)) {
    std::vector<double> before(problem.rank_count, 0.0);
    std::vector<double> after(problem.rank_count, 0.0);
    for (std::size_t i = 0; i < now.size(); ++i) {
      before[now[i].value()] += problem.objects[i].bytes;
      after[proposed[i].value()] += problem.objects[i].bytes;
    }
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
      if (after[rank] > std::max(before[rank], problem.memory_max)) {
        return now;
      }
    }
  }
  const bool is_better = std::ranges::max(rank_costs(problem, proposed)) < std::ranges::max(rank_costs(problem, now));
  return is_better ? std::move(proposed) : std::move(now);
}

Neighbours::Neighbours(const Problem& problem) : begin(problem.objects.size() + 1, 0), at(2 * problem.edges.size()) {
  for (const Edge& edge : problem.edges) {
    ++begin[edge.first + 1];
    ++begin[edge.second + 1];
  }
  for (std::size_t i = 1; i < begin.size(); ++i) {
    begin[i] += begin[i - 1];
  }
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (const Edge& edge : problem.edges) {
    at[next[edge.first]++] = {edge.second, edge.bytes};
    at[next[edge.second]++] = {edge.first, edge.bytes};
  }
}

}  // namespace plait::data::balance::detail
