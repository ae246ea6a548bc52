// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/balancers/bisection.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance {
namespace {

using Numbers = std::span<std::uint32_t>;

struct Mean {
  double sum = 0;
  double count = 0;
  [[nodiscard]] double value(double otherwise) const { return count > 0 ? sum / count : otherwise; }
};

/// Cuts until each part belongs to one rank.
class Cutter {
 public:
  Cutter(const Problem& problem, Placement& placement)
      : problem_{problem},
        background_{detail::fixed_loads(problem)},
        placement_{placement},
        present_(problem.rank_count) {}

  /// Gives `objects` to `ranks`; reorders both.
  void cut(Numbers objects, Numbers ranks) {
    if (ranks.size() == 1 || objects.empty()) {
      for (const std::uint32_t object : objects) {
        placement_[object] = Rank{ranks.front()};
      }
      return;
    }
    const std::size_t axis = longest_side(objects);
    const auto at = [&](std::uint32_t i) { return problem_.objects[i].position[axis]; };
    std::ranges::sort(objects,
                      [&](std::uint32_t a, std::uint32_t b) { return std::tuple{at(a), a} < std::tuple{at(b), b}; });
    order_ranks(objects, ranks, axis);
    const std::size_t low_ranks = ranks.size() / 2;
    const std::size_t low_objects = best_cut(objects, ranks, low_ranks);
    cut(objects.first(low_objects), ranks.first(low_ranks));
    cut(objects.subspan(low_objects), ranks.subspan(low_ranks));
  }

 private:
  [[nodiscard]] std::size_t longest_side(Numbers objects) const {
    std::array<double, 3> sides{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto at = [&](std::uint32_t i) { return problem_.objects[i].position[axis]; };
      const auto [low, high] = std::ranges::minmax(objects, {}, at);
      sides[axis] = at(high) - at(low);
    }
    return static_cast<std::size_t>(std::ranges::max_element(sides) - sides.begin());
  }

  [[nodiscard]] std::uint32_t node_of(std::uint32_t rank) const {
    return problem_.node_of_rank.empty() || problem_.weights.between_nodes == 0 ? 0 : problem_.node_of_rank[rank];
  }

  /// Sorts ranks by the mean position of their present objects, nodes first. Ranks without objects are in the middle.
  void order_ranks(Numbers objects, Numbers ranks, std::size_t axis) {
    for (const std::uint32_t rank : ranks) {
      present_[rank] = {};
    }
    double sum = 0;
    for (const std::uint32_t i : objects) {
      const double at = problem_.objects[i].position[axis];
      Mean& mean = present_[problem_.objects[i].rank.value()];
      mean.sum += at;
      mean.count += 1;
      sum += at;
    }
    const double middle = sum / static_cast<double>(objects.size());
    std::map<std::uint32_t, Mean> nodes;
    for (const std::uint32_t rank : ranks) {
      Mean& node = nodes[node_of(rank)];
      node.sum += present_[rank].sum;
      node.count += present_[rank].count;
    }
    const auto key = [&](std::uint32_t rank) {
      const std::uint32_t node = node_of(rank);
      return std::tuple{nodes[node].value(middle), node, present_[rank].value(middle), rank};
    };
    std::ranges::sort(ranks, [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  }

  /// The number of objects for the first `low_ranks` that minimises the larger load a rank of both sides.
  [[nodiscard]] std::size_t best_cut(Numbers objects, Numbers ranks, std::size_t low_ranks) const {
    const auto background_of = [&](Numbers some) {
      return std::accumulate(
          some.begin(), some.end(), 0.0, [&](double sum, std::uint32_t rank) { return sum + background_[rank]; });
    };
    double low = background_of(ranks.first(low_ranks));
    double high = background_of(ranks.subspan(low_ranks));
    for (const std::uint32_t i : objects) {
      high += problem_.objects[i].load;
    }
    const auto low_count = static_cast<double>(low_ranks);
    const auto high_count = static_cast<double>(ranks.size() - low_ranks);
    std::size_t best = 0;
    double best_most = std::max(low / low_count, high / high_count);
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const double load = problem_.objects[objects[i]].load;
      low += load;
      high -= load;
      const double most = std::max(low / low_count, high / high_count);
      if (most < best_most) {
        best_most = most;
        best = i + 1;
      }
    }
    return best;
  }

  const Problem& problem_;
  std::vector<double> background_;
  Placement& placement_;
  std::vector<Mean> present_;  ///< By rank: positions of the objects being cut.
};

}  // namespace

Decision Bisection::decide(const Problem& problem) const {
  check(problem);
  std::vector<std::uint32_t> objects = detail::heaviest_first(problem);
  Decision decision{.placement = present_placement(problem)};
  if (objects.empty() || problem.objects[objects.front()].load == 0) {
    return decision;
  }
  std::vector<std::uint32_t> ranks(problem.rank_count);
  std::iota(ranks.begin(), ranks.end(), 0U);
  Cutter{problem, decision.placement}.cut(objects, ranks);
  detail::respect_memory(problem, decision.placement);
  decision.placement = detail::if_better(problem, std::move(decision.placement));
  detail::count_as_gathered(problem, decision);
  return decision;
}

}  // namespace plait::data::balance
