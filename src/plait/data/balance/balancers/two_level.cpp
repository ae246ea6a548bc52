// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/balancers/two_level.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "plait/base/error.hpp"
#include "plait/data/balance/balancers.hpp"
#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance {
namespace {

using Nodes = std::vector<std::vector<std::uint32_t>>;

/// The ranks of each node. A problem without nodes has nodes of `group` consecutive ranks; 0: one node.
Nodes nodes_of(const Problem& problem, std::uint32_t group) {
  Nodes nodes;
  for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
    const std::uint32_t node = !problem.node_of_rank.empty() ? problem.node_of_rank[rank]
                               : group > 0                   ? rank / group
                                                             : 0;
    nodes.resize(std::max<std::size_t>(nodes.size(), node + 1U));
    nodes[node].push_back(rank);
  }
  std::erase_if(nodes, [](const auto& ranks) { return ranks.empty(); });
  return nodes;
}

/// The problem whose ranks are the nodes. A node with fewer ranks than the largest has additional background, so that
/// even loads are loads in proportion to the ranks.
Problem among_nodes(const Problem& problem, const Nodes& nodes) {
  Problem found;
  found.rank_count = static_cast<std::uint32_t>(nodes.size());
  found.objects = problem.objects;
  found.edges = problem.edges;
  found.weights = problem.weights;
  found.weights.between_ranks = problem.weights.between_nodes;
  found.background.assign(nodes.size(), 0.0);
  std::vector<std::uint32_t> node_of(problem.rank_count);
  std::size_t largest = 0;
  std::size_t smallest = problem.rank_count;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    largest = std::max(largest, nodes[node].size());
    smallest = std::min(smallest, nodes[node].size());
    for (const std::uint32_t rank : nodes[node]) {
      node_of[rank] = node;
      found.background[node] += problem.background.empty() ? 0 : problem.background[rank];
    }
  }
  double sum = std::accumulate(found.background.begin(), found.background.end(), 0.0);
  for (Object& object : found.objects) {
    object.rank = Rank{node_of[object.rank.value()]};
    sum += object.load;
  }
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    found.background[node] += static_cast<double>(largest - nodes[node].size()) * sum / problem.rank_count;
  }
  found.memory_max = problem.memory_max * static_cast<double>(smallest);
  return found;
}

/// The problem of one node, with the numbers of its objects in the whole problem.
struct Part {
  Problem problem;
  std::vector<std::uint32_t> objects;
};

/// Gives each object without a rank to the rank with least load so far.
void place_arrivals(Problem& part) {
  std::vector<double> loads = part.background;
  for (const Object& object : part.objects) {
    if (object.rank) {
      loads[object.rank.value()] += object.load;
    }
  }
  for (Object& object : part.objects) {
    if (!object.rank) {
      const auto least = std::ranges::min_element(loads);
      *least += object.load;
      object.rank = Rank{static_cast<std::uint32_t>(least - loads.begin())};
    }
  }
}

/// The part of each node. Objects of other nodes start on the rank with least load.
std::vector<Part> parts_of(const Problem& problem, const Nodes& nodes, const Placement& node_of_object) {
  std::vector<Part> parts(nodes.size());
  std::vector<std::uint32_t> node_of(problem.rank_count);
  std::vector<std::uint32_t> number_in_node(problem.rank_count);
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    Problem& part = parts[node].problem;
    part.rank_count = static_cast<std::uint32_t>(nodes[node].size());
    part.memory_max = problem.memory_max;
    part.weights = problem.weights;
    for (std::uint32_t i = 0; i < nodes[node].size(); ++i) {
      const std::uint32_t rank = nodes[node][i];
      node_of[rank] = node;
      number_in_node[rank] = i;
      part.background.push_back(problem.background.empty() ? 0 : problem.background[rank]);
    }
  }
  std::vector<std::uint32_t> number_in_part(problem.objects.size());
  for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
    const std::uint32_t node = node_of_object[i].value();
    number_in_part[i] = static_cast<std::uint32_t>(parts[node].objects.size());
    parts[node].objects.push_back(i);
    Object& object = parts[node].problem.objects.emplace_back(problem.objects[i]);
    const std::uint32_t rank = object.rank.value();
    object.rank = node_of[rank] == node ? Rank{number_in_node[rank]} : Rank{};
  }
  for (Part& part : parts) {
    place_arrivals(part.problem);
  }
  for (const Edge& edge : problem.edges) {
    const Rank node = node_of_object[edge.first];
    if (node == node_of_object[edge.second]) {
      parts[node.value()].problem.edges.push_back(
          {number_in_part[edge.first], number_in_part[edge.second], edge.bytes});
    }
  }
  return parts;
}

/// The balancer that an option names: any but this one, "refine" without the option.
std::unique_ptr<Balancer> inner(Settings& settings, std::string_view option) {
  std::vector<std::string_view> names;
  for (const BalancerEntry& entry : balancer_entries()) {
    if (entry.name != "two_level") {
      names.push_back(entry.name);
    }
  }
  const auto usual = static_cast<std::size_t>(std::ranges::find(names, "refine") - names.begin());
  return make_balancer(names[settings.choice(option, names, usual)]);
}

}  // namespace

TwoLevel::TwoLevel(Settings& settings)
    : among_{inner(settings, "among")},
      within_{inner(settings, "within")},
      tolerance_{settings.number("tolerance", 0.01)},
      group_{settings.count("group", 0)} {}

std::string TwoLevel::name() const {
  std::string text = fmt::format("two_level:among={},within={}", among_->name(), within_->name());
  return group_ > 0 ? fmt::format("{},group={}", text, group_) : text;
}

Decision TwoLevel::decide(const Problem& problem) const {
  check(problem);
  const auto nodes = nodes_of(problem, group_);
  const Problem coarse = among_nodes(problem, nodes);
  Decision decision;
  Placement node_of_object = present_placement(coarse);
  decision.rounds = 2;  // to the first rank of the node and back; the levels add theirs
  decision.messages = 2 * (problem.rank_count - nodes.size());
  if (nodes.size() > 1 && score(coarse, node_of_object).imbalance() > tolerance_) {
    Decision among = among_->decide(coarse);
    node_of_object = std::move(among.placement);
    decision.rounds += among.rounds;
    decision.messages += among.messages;
    decision.message_bytes += among.message_bytes;
  }
  Placement proposed = present_placement(problem);
  std::uint32_t rounds_within = 0;
  const std::vector<Part> parts = parts_of(problem, nodes, node_of_object);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const Part& part = parts[node];
    const Decision within = within_->decide(part.problem);
    rounds_within = std::max(rounds_within, within.rounds);
    decision.messages += within.messages;
    decision.message_bytes += within.message_bytes;
    for (std::size_t i = 0; i < part.objects.size(); ++i) {
      proposed[part.objects[i]] = Rank{nodes[node][within.placement[i].value()]};
    }
  }
  decision.rounds += rounds_within;
  decision.placement = detail::if_better(problem, std::move(proposed));
  return decision;
}

}  // namespace plait::data::balance
