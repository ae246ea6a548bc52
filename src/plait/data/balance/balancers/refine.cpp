// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/balancers/refine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/data/balance/balancers/greedy.hpp"
#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/detail/sharing.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance {
namespace {

constexpr std::array<std::string_view, 2> beginnings{"now", "greedy"};

constexpr std::size_t few = 32;

/// A walk through the tree of placements: at depth d the d heaviest objects are placed.
class Search {
 public:
  Search(const Problem& problem, double best, double goal)
      : problem_{problem},
        order_{detail::heaviest_first(problem)},
        loads_{detail::fixed_loads(problem)},
        chosen_(order_.size()),
        best_{best},
        goal_{goal} {}

  /// The best placement, where one is better than `best`.
  [[nodiscard]] bool run(std::uint64_t tries, Placement& placement) {
    std::vector<std::vector<std::uint32_t>> ways(order_.size());  // of each depth: ranks to try, the last first
    std::size_t depth = 0;
    bool is_found = false;
    ways[0] = ways_of(0);
    while (tries-- > 0 && best_ > goal_) {
      if (ways[depth].empty()) {
        if (depth == 0) {
          break;
        }
        --depth;
        loads_[chosen_[depth]] = before_.back();
        before_.pop_back();
        continue;
      }
      const std::uint32_t rank = ways[depth].back();
      ways[depth].pop_back();
      if (loads_[rank] + load_of(depth) >= best_) {
        continue;
      }
      before_.push_back(loads_[rank]);
      loads_[rank] += load_of(depth);
      chosen_[depth] = rank;
      if (depth + 1 < order_.size()) {
        ++depth;
        ways[depth] = ways_of(depth);
        continue;
      }
      best_ = std::ranges::max(loads_);
      is_found = true;
      for (std::size_t i = 0; i < order_.size(); ++i) {
        placement[order_[i]] = Rank{chosen_[i]};
      }
      loads_[rank] = before_.back();
      before_.pop_back();
    }
    return is_found;
  }

 private:
  [[nodiscard]] double load_of(std::size_t depth) const { return problem_.objects[order_[depth]].load; }

  /// The lightest last; of ranks with the same load one.
  [[nodiscard]] std::vector<std::uint32_t> ways_of(std::size_t depth) const {
    std::vector<std::pair<double, std::uint32_t>> ranks;
    for (std::uint32_t rank = 0; rank < loads_.size(); ++rank) {
      if (loads_[rank] + load_of(depth) < best_) {
        ranks.emplace_back(-loads_[rank], rank);
      }
    }
    std::ranges::sort(ranks);
    std::vector<std::uint32_t> ways;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i == 0 || ranks[i].first != ranks[i - 1].first) {
        ways.push_back(ranks[i].second);
      }
    }
    return ways;
  }

  const Problem& problem_;
  std::vector<std::uint32_t> order_;
  std::vector<double> loads_;
  std::vector<std::uint32_t> chosen_;  ///< By depth.
  std::vector<double> before_;         ///< By depth: the load of the chosen rank.
  double best_;
  double goal_;
};

/// For few objects: tries every placement, the heaviest object first, and cuts off what cannot be better than the best
/// so far (Korf, "A complete anytime algorithm for number partitioning", 1998). Ends at a largest load of `goal`, or
/// after `tries` objects placed. True when that is better than `placement`, which it then is.
///
/// Does nothing where there are more than 32 objects or ranks, memory has a limit, or moving or edges cost.
bool try_all_placements(const Problem& problem, Placement& placement, double goal, std::uint64_t tries) {
  const std::size_t movable = detail::heaviest_first(problem).size();
  if (movable == 0 || movable > few || problem.rank_count > few || std::isfinite(problem.memory_max) ||
      problem.weights.moved > 0 || detail::has_edge_costs(problem)) {
    return false;
  }
  const double now = std::ranges::max(rank_loads(problem, placement));
  Placement found = placement;
  if (now <= goal || !Search{problem, now, goal}.run(tries, found)) {
    return false;
  }
  detail::keep_home(problem, found);
  placement = std::move(found);
  return true;
}

}  // namespace

Refine::Refine(Settings& settings) {
  options_.from = static_cast<RefineOptions::From>(settings.choice("from", beginnings));
  options_.tolerance = settings.number("tolerance", options_.tolerance);
  options_.tries = settings.count("tries", options_.tries, 1);
}

std::string Refine::name() const {
  return fmt::format("refine:from={},tolerance={},tries={}",
                     beginnings[static_cast<std::size_t>(options_.from)],
                     options_.tolerance,
                     options_.tries);
}

Decision Refine::decide(const Problem& problem) const {
  check(problem);
  const bool is_from_now = options_.from == RefineOptions::From::now && !detail::has_edge_costs(problem);
  Placement placement = is_from_now ? present_placement(problem) : Greedy{}.decide(problem).placement;
  detail::share_out(problem, placement, {.tolerance = options_.tolerance, .tries = options_.tries});
  const double goal = load_bound(problem) * (1 + options_.tolerance);
  (void)try_all_placements(problem, placement, goal, std::min(options_.tries / 10, 300'000U));
  return {.placement = detail::if_better(problem, std::move(placement))};
}

}  // namespace plait::data::balance
