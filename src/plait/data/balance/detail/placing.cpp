// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/placing.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "plait/data/balance/objective.hpp"

namespace plait::data::balance::detail {

std::vector<std::uint32_t> heaviest_first(const Problem& problem) {
  std::vector<std::pair<double, std::uint32_t>> order;  // beside each other: sorting follows no index
  order.reserve(problem.objects.size());
  for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
    if (problem.objects[i].is_migratable) {
      order.emplace_back(-problem.objects[i].load, i);
    }
  }
  std::ranges::sort(order);
  std::vector<std::uint32_t> objects(order.size());
  std::ranges::transform(order, objects.begin(), [](const auto& one) { return one.second; });
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
  std::vector<std::pair<std::uint64_t, double>> kept;  // (now, placed), bytes: one entry an object, then one a pair
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const Object& object = problem.objects[i];
    if (is_free[object.rank.value()] && is_free[placement[i].value()]) {
      kept.emplace_back(std::uint64_t{object.rank.value()} << 32U | placement[i].value(), object.bytes + 1e-9);
    }
  }
  std::ranges::sort(kept);
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (pairs > 0 && kept[pairs - 1].first == kept[i].first) {
      kept[pairs - 1].second += kept[i].second;
    } else {
      kept[pairs++] = kept[i];
    }
  }
  kept.resize(pairs);
  std::ranges::sort(kept, [](const auto& left, const auto& right) {
    return std::tuple{-left.second, left.first} < std::tuple{-right.second, right.first};
  });
  std::vector<Rank> becomes(problem.rank_count);
  std::vector<bool> is_taken(problem.rank_count);
  for (const auto& [pair, bytes] : kept) {
    const auto now = static_cast<std::uint32_t>(pair >> 32U);
    const auto placed = static_cast<std::uint32_t>(pair);
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
