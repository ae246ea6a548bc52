// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/hypercube.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "plait/data/balance/detail/negotiation.hpp"

namespace plait::data::balance {

Hypercube::Hypercube(Settings& settings) {
  options_.sweeps = settings.count("sweeps", options_.sweeps, 1);
  options_.dimensions = std::min(settings.count("dimensions", options_.dimensions, 1), 16U);
  options_.tolerance = settings.number("tolerance", options_.tolerance);
}

std::string Hypercube::name() const {
  return fmt::format(
      "hypercube:sweeps={},dimensions={},tolerance={}", options_.sweeps, options_.dimensions, options_.tolerance);
}

Steps<Placement> Hypercube::part(Rounds& rounds, LocalProblem problem) const {
  detail::Holding holding{rounds.self(), problem};
  const HypercubeOptions options = options_;
  const detail::DivideOptions how{.moved = problem.weights.moved, .slack = options.tolerance};
  const std::uint32_t self = rounds.self().value();
  const std::uint32_t count = rounds.rank_count();
  for (std::uint32_t sweep = 0; sweep < options.sweeps; ++sweep) {
    for (std::uint32_t bit = 1; bit < count; bit <<= options.dimensions) {
      std::vector<Rank> members;
      for (std::uint32_t i = 0; i < 1U << options.dimensions; ++i) {
        const std::uint64_t mask = ((std::uint64_t{1} << options.dimensions) - 1) * bit;
        const std::uint64_t member = (self & ~mask) | std::uint64_t{i} * bit;
        if (member < count) {
          members.emplace_back(static_cast<std::uint32_t>(member));
        }
      }
      if (options.dimensions > 1) {
        const bool has_changed = co_await detail::share_in_group(rounds, holding, std::move(members), how);
        (void)has_changed;
        continue;
      }
      std::optional<Rank> partner;
      for (const Rank member : members) {
        partner = member == rounds.self() ? partner : member;
      }
      const bool has_changed = co_await detail::share(rounds, holding, partner, how);
      (void)has_changed;
    }
  }
  const Placement placement = co_await detail::settle(rounds, holding, problem);
  co_return placement;
}

}  // namespace plait::data::balance
