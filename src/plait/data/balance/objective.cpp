// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/objective.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>

#include <fmt/core.h>

#include "plait/base/error.hpp"
#include "plait/data/balance/detail/load_order.hpp"

namespace plait::data::balance {
namespace {

void expect_amount(double value, std::string_view what, std::uint64_t whose) {
  if (!(value >= 0) || std::isinf(value)) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format(
            "the {} {} is {}: balancing needs a number that is 0 or more; was it measured?", what, whose, value)};
  }
}

void check_lists(const Problem& problem) {
  if (problem.rank_count == 0) {
    throw Error{ErrorCode::bad_argument, "there is no rank to place objects on; rank_count must be 1 or more"};
  }
  if (!problem.background.empty() && problem.background.size() != problem.rank_count) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("there are background loads of {} ranks, and {} ranks: give one for each, or none",
                            problem.background.size(),
                            problem.rank_count)};
  }
  if (!problem.node_of_rank.empty() && problem.node_of_rank.size() != problem.rank_count) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("there are nodes of {} ranks, and {} ranks: give one for each, or none",
                            problem.node_of_rank.size(),
                            problem.rank_count)};
  }
  if (std::ranges::any_of(problem.node_of_rank, [&](std::uint32_t node) { return node >= problem.rank_count; })) {
    throw Error{ErrorCode::bad_argument, "nodes of ranks must be numbered from 0, below the number of ranks"};
  }
  if (!(problem.memory_max > 0)) {
    throw Error{ErrorCode::bad_argument, "the memory of a rank must be more than 0 bytes"};
  }
}

/// What an edge between two ranks costs a byte.
double cost_of_byte(const Problem& problem, Rank first, Rank second) {
  const bool is_within_node =
      problem.node_of_rank.empty() || problem.node_of_rank[first.value()] == problem.node_of_rank[second.value()];
  return is_within_node ? problem.weights.between_ranks : problem.weights.between_nodes;
}

}  // namespace

void check(const Problem& problem) {
  check_lists(problem);
  for (const Object& object : problem.objects) {
    expect_amount(object.load, "load of object", object.id.value());
    expect_amount(object.bytes, "number of bytes of object", object.id.value());
    if (object.rank.value() >= problem.rank_count) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("object {} is on rank {}, and there are ranks 0 to {} only",
                              object.id.value(),
                              object.rank.value(),
                              problem.rank_count - 1)};
    }
    if (!std::ranges::all_of(object.position, [](double x) { return std::isfinite(x); })) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("the position of object {} is no point: balancing divides space by positions",
                              object.id.value())};
    }
  }
  for (const Edge& edge : problem.edges) {
    if (edge.first >= problem.objects.size() || edge.second >= problem.objects.size()) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format(
              "an edge joins objects {} and {}, and there are {}", edge.first, edge.second, problem.objects.size())};
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

std::vector<double> rank_costs(const Problem& problem, const Placement& placement) {
  std::vector<double> costs = rank_loads(problem, placement);
  for (const Edge& edge : problem.edges) {
    const Rank first = placement[edge.first];
    const Rank second = placement[edge.second];
    if (first != second) {
      const double cost = edge.bytes * cost_of_byte(problem, first, second);
      costs[first.value()] += cost;
      costs[second.value()] += cost;
    }
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
  std::vector<double> memory(problem.rank_count, 0.0);
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const Object& object = problem.objects[i];
    memory[placement[i].value()] += object.bytes;
    if (placement[i] != object.rank) {
      ++found.objects_moved;
      found.bytes_moved += object.bytes;
    }
  }
  found.memory_max = std::ranges::max(memory);
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
  std::vector<double> fixed = problem.background;
  fixed.resize(problem.rank_count, 0.0);
  double sum = std::accumulate(fixed.begin(), fixed.end(), 0.0);
  std::vector<detail::LoadOf> loads;
  loads.reserve(problem.objects.size());
  for (const Object& object : problem.objects) {
    sum += object.load;
    loads.push_back({object.load, 0});
    if (!object.is_migratable) {
      fixed[object.rank.value()] += object.load;
    }
  }
  detail::sort_heaviest_first(loads);
  double bound = std::max(sum / problem.rank_count, std::ranges::max(fixed));
  std::vector<double> before(loads.size() + 1, 0.0);  // Sum of the heaviest so many.
  std::transform_inclusive_scan(
      loads.begin(), loads.end(), before.begin() + 1, std::plus<>{}, [](const auto& one) { return one.load; });
  for (std::size_t last = 0; last < loads.size(); last += problem.rank_count) {
    const std::size_t meet = last / problem.rank_count + 1;
    bound = std::max(bound, before[last + 1] - before[last + 1 - meet]);
  }
  return bound;
}

}  // namespace plait::data::balance
