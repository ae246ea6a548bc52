// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/balancers/hypercube.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/data/balance/detail/divide.hpp"
#include "plait/data/balance/detail/sharing.hpp"
#include "plait/data/balance/detail/tree.hpp"

namespace plait::data::balance {
namespace detail {
namespace {

/// What one rank holds during a negotiation.
class Holding {
 public:
  Holding(Rank self, const LocalProblem& problem);

  [[nodiscard]] double load() const;
  [[nodiscard]] Rank self() const noexcept { return side.rank; }

  Side side;
  std::vector<Token> tokens;
};

/// A side and its tokens as a message.
Bytes packed(const Holding& holding) {
  Bytes bytes(sizeof(Side) + holding.tokens.size() * sizeof(Token));
  std::memcpy(bytes.data(), &holding.side, sizeof(Side));
  if (!holding.tokens.empty()) {
    std::memcpy(bytes.data() + sizeof(Side), holding.tokens.data(), holding.tokens.size() * sizeof(Token));
  }
  return bytes;
}

/// Of exchanges, for each member of a group: what takes some 1 ms in all for 16.
constexpr std::uint64_t tries_of_rank = 20'000;

/// Below this the rank with most cannot be: the mean, the heaviest token, what cannot leave.
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

struct Costs {
  double before;
  double after;
};

Holding::Holding(Rank self, const LocalProblem& problem) : side{.rank = self, .load = problem.background} {
  double bytes = 0;
  for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
    const Object& object = problem.objects[i];
    bytes += object.bytes;
    if (object.is_migratable) {
      tokens.push_back({object.load, object.bytes, self, i});
    } else {
      side.load += object.load;
      side.bytes += object.bytes;
    }
  }
  side.bytes_max = std::max(bytes, problem.memory_max);
}

double Holding::load() const {
  double sum = side.load;
  for (const Token& token : tokens) {
    sum += token.load;
  }
  return sum;
}

/// Two rounds: the members of a group send what they hold to the first of them, which works out who shall have what
/// (`Sharing`), and sends it back. Of the options, `moved` and `slack` count. All name the same members, in the same
/// order; a group of one pauses.
[[nodiscard]] Steps<bool> share_in_group(Rounds& rounds,
                                         Holding& holding,
                                         std::vector<Rank> members,
                                         DivideOptions options) {
  const bool is_first = holding.self() == members.front();
  std::vector<Mail> out;
  if (!is_first) {
    out.push_back({members.front(), packed(holding)});
  }
  const auto others = static_cast<std::uint32_t>(members.size() - 1);
  const std::vector<Mail> holdings = co_await rounds.exchange(std::move(out), is_first ? others : 0);
  std::vector<Mail> back;
  bool has_changed = false;
  if (is_first && others > 0) {
    std::vector<Side> sides{holding.side};
    std::vector<std::vector<Token>> tokens{holding.tokens};
    for (const Mail& mail : holdings) {
      const std::span<const std::byte> bytes{mail.bytes};
      sides.push_back(values_of<Side>(bytes.first(sizeof(Side))).front());
      tokens.push_back(values_of<Token>(bytes.subspan(sizeof(Side))));
    }
    const double goal = bound_of(sides, tokens) * (1 + options.slack);
    const std::uint64_t tries = tries_of_rank * sides.size();
    Sharing sharing{std::move(sides), tokens, {.goal = goal, .moved = options.moved, .tries = tries, .anew = 0.7}};
    has_changed = sharing.run();
    tokens = sharing.tokens();
    holding.tokens = tokens.front();
    for (std::size_t i = 0; i < holdings.size(); ++i) {
      back.push_back({holdings[i].peer, bytes_of(std::span<const Token>{tokens[i + 1]})});
    }
  }
  const std::vector<Mail> shares = co_await rounds.exchange(std::move(back), is_first ? 0 : 1);
  if (!is_first) {
    holding.tokens = values_of<Token>(shares.front().bytes);
  }
  co_return has_changed;
}

/// Reports to homes where their objects are; returns where this rank's go. One round, and, where moving costs
/// anything, an agreement of all whether it was worth it.
[[nodiscard]] Steps<Placement> settle(Rounds& rounds, const Holding& holding, const LocalProblem& problem) {
  const Rank self = holding.self();
  std::map<Rank, std::vector<std::uint32_t>> come;
  Costs costs{problem.background, holding.load()};
  for (const Token& token : holding.tokens) {
    if (token.home != self) {
      come[token.home].push_back(token.number);
      costs.after += token.bytes * problem.weights.moved;
    }
  }
  std::vector<Mail> out;
  for (const auto& [home, numbers] : come) {
    out.push_back({home, bytes_of(std::span<const std::uint32_t>{numbers})});
  }
  const std::vector<Mail> inbox = co_await rounds.exchange_unknown(std::move(out));
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
    const Costs all = co_await all_reduce(rounds, costs, [](const Costs& one, const Costs& other) {
      return Costs{std::max(one.before, other.before), std::max(one.after, other.after)};
    });
    if (all.after >= all.before) {
      std::ranges::fill(placement, self);
    }
  }
  co_return placement;
}

}  // namespace
}  // namespace detail

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
      const bool has_changed = co_await detail::share_in_group(rounds, holding, std::move(members), how);
      (void)has_changed;
    }
  }
  const Placement placement = co_await detail::settle(rounds, holding, problem);
  co_return placement;
}

}  // namespace plait::data::balance
