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

constexpr std::array<std::string_view, 2> starts{"now", "greedy"};

constexpr std::uint32_t few = 32;

/// A depth-first search of the tree of placements: at depth d, the d heaviest objects are placed.
class Search {
 public:
  Search(const Problem& problem, double best, double goal, std::uint64_t tries)
      : problem_{problem},
        order_{detail::heaviest_first(problem)},
        loads_{detail::fixed_loads(problem)},
        chosen_(order_.size()),
        best_{best},
        goal_{goal},
        tries_{tries} {}

  /// Sets `placement` to the best one if that is better than `best`; returns whether it is.
  [[nodiscard]] bool run(Placement& placement) {
    place(0);
    for (std::size_t depth = 0; depth < found_.size(); ++depth) {
      placement[order_[depth]] = Rank{found_[depth]};
    }
    return !found_.empty();
  }

 private:
  void place(std::size_t depth) {
    if (depth == order_.size()) {
      best_ = std::ranges::max(loads_);
      found_ = chosen_;
      return;
    }
    const double load = problem_.objects[order_[depth]].load;
    for (const auto& [before, rank] : ranks_for(load)) {
      if (best_ <= goal_ || tries_ == 0) {
        return;
      }
      --tries_;
      if (before + load < best_) {
        loads_[rank] = before + load;
        chosen_[depth] = rank;
        place(depth + 1);
        loads_[rank] = before;
      }
    }
  }

  /// Loads and numbers of ranks to try, the lightest first; one of those with equal loads.
  [[nodiscard]] std::vector<std::pair<double, std::uint32_t>> ranks_for(double load) const {
    std::vector<std::pair<double, std::uint32_t>> ranks;
    for (std::uint32_t rank = 0; rank < loads_.size(); ++rank) {
      if (loads_[rank] + load < best_) {
        ranks.emplace_back(loads_[rank], rank);
      }
    }
    std::ranges::sort(ranks);
    const auto equal = std::ranges::unique(ranks, {}, &std::pair<double, std::uint32_t>::first);
    ranks.erase(equal.begin(), equal.end());
    return ranks;
  }

  const Problem& problem_;
  std::vector<std::uint32_t> order_;
  std::vector<double> loads_;
  std::vector<std::uint32_t> chosen_;  ///< Ranks, by depth.
  std::vector<std::uint32_t> found_;   ///< The best so far, by depth; empty: none.
  double best_;
  double goal_;
  std::uint64_t tries_;
};

/// Branch and bound over all placements of few objects, the heaviest first (Korf, "A complete anytime algorithm for
/// number partitioning", 1998). Ends at a largest load of `goal`, or after `tries` ranks tried for an object. Changes
/// `placement` if it finds a better one.
///
/// Does nothing for more than 32 objects or ranks, or where memory has a limit, or moving or edges cost anything.
void try_all_placements(const Problem& problem, Placement& placement, double goal, std::uint64_t tries) {
  const auto movable = std::ranges::count_if(problem.objects, &Object::is_migratable);
  if (movable == 0 || movable > few || problem.rank_count > few || std::isfinite(problem.memory_max) ||
      problem.weights.moved > 0 || detail::has_edge_costs(problem)) {
    return;
  }
  const double now = std::ranges::max(rank_loads(problem, placement));
  if (now > goal && Search{problem, now, goal, tries}.run(placement)) {
    detail::keep_home(problem, placement);
  }
}

}  // namespace

Refine::Refine(Settings& settings)
    : from_{settings.choice("from", starts)},
      tolerance_{settings.number("tolerance", 1e-3)},
      tries_{settings.count("tries", 10'000'000, 1)} {}

std::string Refine::name() const {
  return fmt::format("refine:from={},tolerance={},tries={}", starts.at(from_), tolerance_, tries_);
}

Decision Refine::decide(const Problem& problem) const {
  check(problem);
  const bool is_from_now = starts.at(from_) == "now" && !detail::has_edge_costs(problem);
  Placement placement = is_from_now ? present_placement(problem) : Greedy{}.decide(problem).placement;
  detail::share_out(problem, placement, tolerance_, tries_);
  const double goal = load_bound(problem) * (1 + tolerance_);
  try_all_placements(problem, placement, goal, std::min(tries_ / 10, 300'000U));
  return {.placement = detail::if_better(problem, std::move(placement))};
}

}  // namespace plait::data::balance
