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

/// By node: its ranks. With `group`, that many following one another are a node.
std::vector<std::vector<std::uint32_t>> nodes_of(const Problem& problem, std::uint32_t group) {
  std::vector<std::vector<std::uint32_t>> nodes;
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

/// The problem whose ranks are the nodes. One with fewer ranks than others has as much more background as these would
/// carry, so that even loads are those in proportion to the ranks.
Problem among_nodes(const Problem& problem, const std::vector<std::vector<std::uint32_t>>& nodes) {
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

/// The problem of one node, and which objects of the whole its are.
struct Part {
  Problem problem;
  std::vector<std::uint32_t> objects;
};

/// The part of each node. What comes from another node begins on the rank that has least so far.
class Parts {
 public:
  Parts(const Problem& problem, const std::vector<std::vector<std::uint32_t>>& nodes, const Placement& node_of_object)
      : problem_{problem}, parts_(nodes.size()), number_in_part_(problem.objects.size()), loads_(nodes.size()) {
    std::vector<std::uint32_t> number_in_node(problem.rank_count);
    std::vector<std::uint32_t> node_of(problem.rank_count);
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
      begin(node, nodes[node]);
      for (std::uint32_t i = 0; i < nodes[node].size(); ++i) {
        node_of[nodes[node][i]] = node;
        number_in_node[nodes[node][i]] = i;
      }
    }
    for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
      const Object& object = problem.objects[i];
      const std::uint32_t node = node_of_object[i].value();
      const bool is_at_home = node_of[object.rank.value()] == node;
      add(node, i, is_at_home ? Rank{number_in_node[object.rank.value()]} : Rank{});
    }
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
      place_arrivals(node);
    }
    for (const Edge& edge : problem.edges) {
      const std::uint32_t node = node_of_object[edge.first].value();
      if (node == node_of_object[edge.second].value()) {
        parts_[node].problem.edges.push_back({number_in_part_[edge.first], number_in_part_[edge.second], edge.bytes});
      }
    }
  }

  [[nodiscard]] const std::vector<Part>& all() const { return parts_; }

 private:
  void begin(std::uint32_t node, const std::vector<std::uint32_t>& ranks) {
    Problem& part = parts_[node].problem;
    part.rank_count = static_cast<std::uint32_t>(ranks.size());
    part.memory_max = problem_.memory_max;
    part.weights = problem_.weights;
    part.background.assign(ranks.size(), 0.0);
    for (std::size_t i = 0; i < ranks.size() && !problem_.background.empty(); ++i) {
      part.background[i] = problem_.background[ranks[i]];
    }
    loads_[node] = part.background;
  }

  void add(std::uint32_t node, std::uint32_t object, Rank rank) {
    Part& part = parts_[node];
    number_in_part_[object] = static_cast<std::uint32_t>(part.objects.size());
    part.objects.push_back(object);
    part.problem.objects.push_back(problem_.objects[object]);
    part.problem.objects.back().rank = rank;
    if (rank) {
      loads_[node][rank.value()] += problem_.objects[object].load;
    }
  }

  void place_arrivals(std::uint32_t node) {
    std::vector<double>& loads = loads_[node];
    for (Object& object : parts_[node].problem.objects) {
      if (!object.rank) {
        const auto least = std::ranges::min_element(loads);
        *least += object.load;
        object.rank = Rank{static_cast<std::uint32_t>(least - loads.begin())};
      }
    }
  }

  const Problem& problem_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> number_in_part_;  ///< By object.
  std::vector<std::vector<double>> loads_;     ///< By node and rank in it, of what is placed.
};

/// A balancer's name as an option; all are possible but this one.
std::unique_ptr<Balancer> inner(Settings& settings, std::string_view option, std::string_view otherwise) {
  std::vector<std::string_view> names;
  std::size_t usual = 0;
  for (const BalancerEntry& entry : balancer_entries()) {
    if (entry.name != "two_level") {
      usual = entry.name == otherwise ? names.size() : usual;
      names.push_back(entry.name);
    }
  }
  return make_balancer(names[settings.choice(option, names, usual)]);
}

}  // namespace

TwoLevel::TwoLevel(Settings& settings)
    : options_{.among = inner(settings, "among", "refine"),
               .within = inner(settings, "within", "refine"),
               .tolerance = settings.number("tolerance", TwoLevelOptions{}.tolerance),
               .group = settings.count("group", 0)} {}

std::string TwoLevel::name() const {
  std::string text = fmt::format("two_level:among={},within={}", options_.among->name(), options_.within->name());
  return options_.group > 0 ? fmt::format("{},group={}", text, options_.group) : text;
}

Decision TwoLevel::decide(const Problem& problem) const {
  check(problem);
  const auto nodes = nodes_of(problem, options_.group);
  const Problem coarse = among_nodes(problem, nodes);
  Decision decision;
  Placement node_of_object = present_placement(coarse);
  decision.rounds = 2;  // To the first rank of the node and back, beside what the levels themselves need.
  decision.messages = 2 * (problem.rank_count - nodes.size());
  if (nodes.size() > 1 && score(coarse, node_of_object).imbalance() > options_.tolerance) {
    Decision among = options_.among->decide(coarse);
    node_of_object = std::move(among.placement);
    decision.rounds += among.rounds;
    decision.messages += among.messages;
    decision.message_bytes += among.message_bytes;
  }
  Placement proposed = present_placement(problem);
  std::uint32_t rounds_within = 0;
  const Parts parts{problem, nodes, node_of_object};
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const Part& part = parts.all()[node];
    const Decision within = options_.within->decide(part.problem);
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
