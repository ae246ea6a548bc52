// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/balancers/hypercube.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/data/balance/detail/divide.hpp"
#include "plait/data/balance/detail/sharing.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data::balance {
namespace detail {
namespace {

/// What one rank has during the negotiation.
struct Holding {
  Side side;
  std::vector<Token> tokens;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(side, tokens);
  }
};

Holding holding_of(Rank self, const LocalProblem& problem) {
  Holding holding{.side = {.rank = self, .load = problem.background}};
  double bytes = 0;
  for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
    const Object& object = problem.objects[i];
    bytes += object.bytes;
    if (object.is_migratable) {
      holding.tokens.push_back({object.load, object.bytes, self, i});
    } else {
      holding.side.load += object.load;
      holding.side.bytes += object.bytes;
    }
  }
  holding.side.bytes_max = std::max(bytes, problem.memory_max);
  return holding;
}

/// A lower bound of the largest load: the mean, the heaviest token, the loads that cannot leave.
double bound_of(const std::vector<Side>& sides, const std::vector<std::vector<Token>>& tokens) {
  double sum = 0;
  double most = 0;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    sum += sides[i].load;
    most = std::max(most, sides[i].load);
    for (const Token& token : tokens[i]) {
      sum += token.load;
      most = std::max(most, token.load);
    }
  }
  return std::max(most, sum / static_cast<double>(sides.size()));
}

/// Returns this rank's new tokens. Two rounds: the first of the members receives what all have, divides it (`Sharing`),
/// and sends each its share. All name the same members in the same order.
Steps<std::vector<Token>> share_in_group(
    Rounds& rounds, const Holding& holding, std::vector<Rank> members, double moved, double tolerance) {
  constexpr std::uint64_t tries_of_rank = 20'000;  // some 1 ms for 16 members
  const bool is_first = holding.side.rank == members.front();
  std::vector<Mail> out;
  if (!is_first) {
    out.push_back({members.front(), pack(holding)});
  }
  const auto others = static_cast<std::uint32_t>(members.size() - 1);
  const std::vector<Mail> holdings = co_await rounds.exchange(std::move(out), is_first ? others : 0);
  std::vector<Mail> back;
  std::vector<std::vector<Token>> tokens{holding.tokens};
  if (is_first && others > 0) {
    std::vector<Side> sides{holding.side};
    for (const Mail& mail : holdings) {
      Holding other = unpack_as<Holding>(mail.bytes);
      sides.push_back(other.side);
      tokens.push_back(std::move(other.tokens));
    }
    const double goal = bound_of(sides, tokens) * (1 + tolerance);
    const std::uint64_t tries = tries_of_rank * sides.size();
    Sharing sharing{std::move(sides), tokens, {.goal = goal, .moved = moved, .tries = tries, .anew = 0.7}};
    sharing.run();
    tokens = sharing.tokens();
    for (std::size_t i = 0; i < holdings.size(); ++i) {
      back.push_back({holdings[i].peer, bytes_of(std::span<const Token>{tokens[i + 1]})});
    }
  }
  const std::vector<Mail> shares = co_await rounds.exchange(std::move(back), is_first ? 0 : 1);
  co_return is_first ? std::move(tokens.front()) : values_of<Token>(shares.front().bytes);
}

struct Costs {
  double before;
  double after;
};

/// Returns the new ranks of this rank's objects, which it receives from those that have them. One round; where moving
/// costs anything, ceil(log2(ranks)) more, in which all ranks agree on whether that is worth it.
Steps<Placement> settle(Rounds& rounds, const Holding& holding, const LocalProblem& problem) {
  const Rank self = holding.side.rank;
  std::map<Rank, std::vector<std::uint32_t>> come;
  Costs costs{problem.background, holding.side.load};
  for (const Token& token : holding.tokens) {
    costs.after += token.load;
    if (token.home != self) {
      come[token.home].push_back(token.number);
      costs.after += token.bytes * problem.weights.moved;
    }
  }
  std::vector<Mail> out;
  for (const auto& [home, numbers] : come) {
    out.push_back({home, bytes_of(std::span<const std::uint32_t>{numbers})});
  }
  const std::vector<Mail> inbox = co_await rounds.exchange(std::move(out), std::nullopt);
  Placement placement(problem.objects.size(), self);
  for (const Mail& mail : inbox) {
    for (const std::uint32_t number : values_of<std::uint32_t>(mail.bytes)) {
      placement.at(number) = mail.peer;
      costs.after += problem.objects[number].bytes * problem.weights.moved;
    }
  }
  if (problem.weights.moved > 0) {
    for (const Object& object : problem.objects) {
      costs.before += object.load;
    }
    const std::uint32_t count = rounds.rank_count();
    for (std::uint32_t bit = 1; bit < count; bit <<= 1U) {  // the largest of 2 * bit ranks, then
      std::vector<Mail> largest;
      largest.push_back({Rank{(self.value() + bit) % count}, bytes_of(std::span<const Costs>{&costs, 1})});
      const std::vector<Mail> other = co_await rounds.exchange(std::move(largest), 1);
      const Costs its = values_of<Costs>(other.front().bytes).front();
      costs = {std::max(costs.before, its.before), std::max(costs.after, its.after)};
    }
    if (costs.after >= costs.before) {
      std::ranges::fill(placement, self);
    }
  }
  co_return placement;
}

}  // namespace
}  // namespace detail

Hypercube::Hypercube(Settings& settings)
    : sweeps_{settings.count("sweeps", 2, 1)},
      dimensions_{std::min(settings.count("dimensions", 4, 1), 16U)},
      tolerance_{settings.number("tolerance", 1e-3)} {}

std::string Hypercube::name() const {
  return fmt::format("hypercube:sweeps={},dimensions={},tolerance={}", sweeps_, dimensions_, tolerance_);
}

Steps<Placement> Hypercube::part(Rounds& rounds, LocalProblem problem) const {
  detail::Holding holding = detail::holding_of(rounds.self(), problem);
  const double moved = problem.weights.moved;
  const std::uint32_t self = rounds.self().value();
  const std::uint32_t count = rounds.rank_count();
  for (std::uint32_t sweep = 0; sweep < sweeps_; ++sweep) {
    for (std::uint32_t bit = 1; bit < count; bit <<= dimensions_) {
      std::vector<Rank> members;
      for (std::uint32_t i = 0; i < 1U << dimensions_; ++i) {
        const std::uint64_t mask = ((std::uint64_t{1} << dimensions_) - 1) * bit;
        const std::uint64_t member = (self & ~mask) | std::uint64_t{i} * bit;
        if (member < count) {
          members.emplace_back(static_cast<std::uint32_t>(member));
        }
      }
      holding.tokens = co_await detail::share_in_group(rounds, holding, std::move(members), moved, tolerance_);
    }
  }
  const Placement placement = co_await detail::settle(rounds, holding, problem);
  co_return placement;
}

}  // namespace plait::data::balance
