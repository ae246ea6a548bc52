// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/objective.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "plait/base/error.hpp"
#include "plait/data/balance/detail/load_order.hpp"
#include "plait/data/balance/detail/placing.hpp"

namespace plait::data::balance {
namespace {

template <class... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> sentence, Values&&... values) {
  throw Error{ErrorCode::bad_argument, fmt::format(sentence, std::forward<Values>(values)...)};
}

void expect_amount(double value, std::string_view what, std::uint64_t whose) {
  if (!(value >= 0) || std::isinf(value)) {
    refuse("the {} {} is {}: balancing needs a number that is 0 or more; was it measured?", what, whose, value);
  }
}

void expect_one_each(std::size_t count, std::string_view what, std::uint32_t ranks) {
  if (count != 0 && count != ranks) {
    refuse("there are {} of {} ranks, and {} ranks: give one for each, or none", what, count, ranks);
  }
}

void check_lists(const Problem& problem) {
  if (problem.rank_count == 0) {
    refuse("there is no rank to place objects on; rank_count must be 1 or more");
  }
  expect_one_each(problem.background.size(), "background loads", problem.rank_count);
  expect_one_each(problem.node_of_rank.size(), "nodes", problem.rank_count);
  if (std::ranges::any_of(problem.node_of_rank, [&](std::uint32_t node) { return node >= problem.rank_count; })) {
    refuse("nodes of ranks must be numbered from 0, below the number of ranks");
  }
  if (!(problem.memory_max > 0)) {
    refuse("the memory of a rank must be more than 0 bytes");
  }
}

}  // namespace

void check(const Problem& problem) {
  check_lists(problem);
  for (const Object& object : problem.objects) {
    const std::uint64_t id = object.id.value();
    expect_amount(object.load, "load of object", id);
    expect_amount(object.bytes, "number of bytes of object", id);
    if (object.rank.value() >= problem.rank_count) {
      refuse("object {} is on rank {}, but the ranks are 0 to {}", id, object.rank.value(), problem.rank_count - 1);
    }
    if (!std::ranges::all_of(object.position, [](double x) { return std::isfinite(x); })) {
      refuse("the position of object {} is not finite: balancing divides space by positions", id);
    }
  }
  const std::size_t count = problem.objects.size();
  for (const Edge& edge : problem.edges) {
    if (edge.first >= count || edge.second >= count) {
      refuse("an edge joins objects {} and {}, but there are only {}", edge.first, edge.second, count);
    }
    expect_amount(edge.bytes, "number of bytes of an edge of object", problem.objects[edge.first].id.value());
  }
  for (std::size_t rank = 0; rank < problem.background.size(); ++rank) {
    expect_amount(problem.background[rank], "background load of rank", rank);
  }
}

Placement present_placement(const Problem& problem) {
  Placement placement(problem.objects.size());
  std::ranges::transform(problem.objects, placement.begin(), &Object::rank);
  return placement;
}

std::vector<double> rank_loads(const Problem& problem, const Placement& placement) {
  std::vector<double> loads = problem.background;
  loads.resize(problem.rank_count, 0.0);
  for (std::size_t i = 0; i < placement.size(); ++i) {
    loads[placement[i].value()] += problem.objects[i].load;
  }
  return loads;
}

std::vector<double> rank_bytes(const Problem& problem, const Placement& placement) {
  std::vector<double> bytes(problem.rank_count, 0.0);
  for (std::size_t i = 0; i < placement.size(); ++i) {
    bytes[placement[i].value()] += problem.objects[i].bytes;
  }
  return bytes;
}

std::vector<double> rank_costs(const Problem& problem, const Placement& placement) {
  std::vector<double> costs = rank_loads(problem, placement);
  for (const Edge& edge : problem.edges) {
    const Rank first = placement[edge.first];
    const Rank second = placement[edge.second];
    const double cost = edge.bytes * detail::byte_cost(problem, first, second);
    costs[first.value()] += cost;
    costs[second.value()] += cost;
  }
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const Object& object = problem.objects[i];
    if (placement[i] != object.rank) {
      costs[object.rank.value()] += object.bytes * problem.weights.moved;
      costs[placement[i].value()] += object.bytes * problem.weights.moved;
    }
  }
  return costs;
}

Score score(const Problem& problem, const Placement& placement) {
  expect(placement.size() == problem.objects.size(), "each object has a place");
  Score found;
  const std::vector<double> loads = rank_loads(problem, placement);
  found.load_max = std::ranges::max(loads);
  found.load_mean = std::accumulate(loads.begin(), loads.end(), 0.0) / problem.rank_count;
  found.cost_max = std::ranges::max(rank_costs(problem, placement));
  found.memory_max = std::ranges::max(rank_bytes(problem, placement));
  for (std::size_t i = 0; i < placement.size(); ++i) {
    if (placement[i] != problem.objects[i].rank) {
      ++found.objects_moved;
      found.bytes_moved += problem.objects[i].bytes;
    }
  }
  for (const Edge& edge : problem.edges) {
    const Rank first = placement[edge.first];
    const Rank second = placement[edge.second];
    if (first != second) {
      found.bytes_between_ranks += edge.bytes;
    }
    if (!problem.node_of_rank.empty() && problem.node_of_rank[first.value()] != problem.node_of_rank[second.value()]) {
      found.bytes_between_nodes += edge.bytes;
    }
  }
  return found;
}

double load_bound(const Problem& problem) {
  const std::vector<double> present = rank_loads(problem, present_placement(problem));
  const double mean = std::accumulate(present.begin(), present.end(), 0.0) / problem.rank_count;
  double bound = std::max(mean, std::ranges::max(detail::fixed_loads(problem)));
  std::vector<detail::LoadOf> loads;
  for (const Object& object : problem.objects) {
    loads.push_back({object.load, 0});
  }
  detail::sort_heaviest_first(loads);
  std::vector<double> before(loads.size() + 1, 0.0);  // before[n]: the sum of the n heaviest
  std::transform_inclusive_scan(
      loads.begin(), loads.end(), before.begin() + 1, std::plus<>{}, [](const auto& one) { return one.load; });
  for (std::size_t last = 0; last < loads.size(); last += problem.rank_count) {
    const std::size_t meet = last / problem.rank_count + 1;
    bound = std::max(bound, before[last + 1] - before[last + 1 - meet]);
  }
  return bound;
}

}  // namespace plait::data::balance
