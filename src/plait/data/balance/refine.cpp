// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/refine.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "plait/data/balance/detail/all_placements.hpp"
#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/detail/sharing.hpp"
#include "plait/data/balance/greedy.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance {
namespace {

constexpr std::array<std::string_view, 2> beginnings{"now", "greedy"};

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
  (void)detail::try_all_placements(problem, placement, goal, std::min(options_.tries / 10, 300'000U));
  return {.placement = detail::if_better(problem, std::move(placement))};
}

}  // namespace plait::data::balance
