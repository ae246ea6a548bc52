// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/placing.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

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

namespace {

std::vector<double> with_fixed(const Problem& problem, double Object::* amount, std::vector<double> sums) {
  sums.resize(problem.rank_count, 0.0);
  for (const Object& object : problem.objects) {
    if (!object.is_migratable) {
      sums[object.rank.value()] += object.*amount;
    }
  }
  return sums;
}

}  // namespace

std::vector<double> fixed_loads(const Problem& problem) {
  return with_fixed(problem, &Object::load, problem.background);
}

std::vector<double> fixed_bytes(const Problem& problem) {
  return with_fixed(problem, &Object::bytes, {});
}

bool has_edge_costs(const Problem& problem) {
  return !problem.edges.empty() && (problem.weights.between_ranks > 0 || problem.weights.between_nodes > 0);
}

void keep_home(const Problem& problem, Placement& placement) {
  if (has_edge_costs(problem)) {
    return;
  }
  std::vector<bool> is_free(problem.rank_count);
  const std::vector<double> loads = fixed_loads(problem);
  const std::vector<double> bytes = fixed_bytes(problem);
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    is_free[rank] = loads[rank] == 0 && bytes[rank] == 0;
  }
  struct Common {
    double bytes = 0;
    std::uint32_t object = 0;  ///< The first of them.
  };
  boost::unordered_flat_map<std::uint64_t, Common> in_common;  // by present and by placed rank
  for (std::uint32_t i = 0; i < placement.size(); ++i) {
    const std::uint32_t now = problem.objects[i].rank.value();
    const std::uint32_t placed = placement[i].value();
    if (is_free[now] && is_free[placed]) {
      Common& common = in_common.try_emplace(std::uint64_t{now} << 32U | placed, Common{0, i}).first->second;
      common.bytes += problem.objects[i].bytes + 1e-9;  // objects without bytes count too
    }
  }
  std::vector<std::tuple<double, Rank, std::uint32_t>> most_first;
  for (const auto& [ranks, common] : in_common) {
    most_first.emplace_back(-common.bytes, problem.objects[common.object].rank, common.object);
  }
  std::ranges::sort(most_first);
  std::vector<Rank> becomes(problem.rank_count);
  std::vector<bool> is_taken(problem.rank_count);
  for (const auto& [negative_bytes, now, object] : most_first) {
    Rank& then = becomes[placement[object].value()];
    if (!then && !is_taken[now.value()]) {
      then = now;
      is_taken[now.value()] = true;
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

void respect_memory(const Problem& problem, Placement& placement) {
  std::vector<double> loads = rank_loads(problem, placement);
  std::vector<double> bytes = rank_bytes(problem, placement);
  const std::vector<double> bytes_now = rank_bytes(problem, present_placement(problem));
  const auto is_over = [&](Rank rank) {
    return bytes[rank.value()] > std::max(bytes_now[rank.value()], problem.memory_max);
  };
  const auto place = [&](std::uint32_t object, Rank to) {
    const Object& what = problem.objects[object];
    loads[placement[object].value()] -= what.load;
    bytes[placement[object].value()] -= what.bytes;
    loads[to.value()] += what.load;
    bytes[to.value()] += what.bytes;
    placement[object] = to;
  };
  const auto least_with_room = [&](std::uint32_t object) {
    Rank best;
    for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
      const bool has_room = bytes[rank] + problem.objects[object].bytes <= problem.memory_max;
      if (has_room && (!best || loads[rank] < loads[best.value()])) {
        best = Rank{rank};
      }
    }
    return best;
  };
  std::vector<std::uint32_t> arrived;
  for (std::uint32_t i = 0; i < placement.size(); ++i) {
    if (placement[i] != problem.objects[i].rank && problem.objects[i].bytes > 0) {
      arrived.push_back(i);
    }
  }
  std::ranges::stable_sort(arrived, std::greater{}, [&](std::uint32_t i) { return problem.objects[i].bytes; });
  for (const std::uint32_t object : arrived) {
    const Rank to = is_over(placement[object]) ? least_with_room(object) : Rank{};
    if (to) {
      place(object, to);
    }
  }
  // An object that returns home may push others over the limit there; each returns at most once.
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const std::uint32_t object : arrived) {
      const Rank home = problem.objects[object].rank;
      if (placement[object] != home && is_over(placement[object])) {
        place(object, home);
        is_changed = true;
      }
    }
  }
}

Placement if_better(const Problem& problem, Placement proposed) {
  Placement now = present_placement(problem);
  if (proposed == now) {
    return now;
  }
  const std::vector<double> before = rank_bytes(problem, now);
  const std::vector<double> after = rank_bytes(problem, proposed);
  for (std::size_t rank = 0; rank < before.size(); ++rank) {
    if (after[rank] > std::max(before[rank], problem.memory_max)) {
      return now;
    }
  }
  const bool is_better = std::ranges::max(rank_costs(problem, proposed)) < std::ranges::max(rank_costs(problem, now));
  return is_better ? std::move(proposed) : std::move(now);
}

void count_as_gathered(const Problem& problem, Decision& decision) {
  constexpr std::uint64_t bytes_of_object = 8 + 8 + 8 + 24;  // id, load, bytes, position
  constexpr std::uint64_t bytes_of_edge = 8 + 8 + 8;
  constexpr std::uint64_t bytes_of_place = 4;
  const auto levels = static_cast<std::uint32_t>(std::bit_width(problem.rank_count - 1U));
  decision.rounds = 2 * levels;
  decision.messages = 2 * (static_cast<std::uint64_t>(problem.rank_count) - 1);
  // A rank of the tree is on average half of the levels away from the root.
  decision.message_bytes =
      (problem.objects.size() * (bytes_of_object + bytes_of_place) + problem.edges.size() * bytes_of_edge) * levels / 2;
}

Neighbours::Neighbours(const Problem& problem) : begin(problem.objects.size() + 1, 0), at(2 * problem.edges.size()) {
  for (const Edge& edge : problem.edges) {
    ++begin[edge.first + 1];
    ++begin[edge.second + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (const Edge& edge : problem.edges) {
    at[next[edge.first]++] = {edge.second, edge.bytes};
    at[next[edge.second]++] = {edge.first, edge.bytes};
  }
}

}  // namespace plait::data::balance::detail
