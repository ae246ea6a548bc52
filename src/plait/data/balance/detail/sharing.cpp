// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/sharing.hpp"

#include <algorithm>
#include <utility>

#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance::detail {
namespace {

/// A step need not look for the very best partner: one that takes this part of what is too much away will do.
constexpr double part_to_win = 0.4;
constexpr double tolerance = 1e-9;

using Tokens = std::vector<std::vector<Token>>;

/// All steps; the tries that are left.
std::uint64_t run(Sharing& sharing) {
  while (sharing.step()) {
  }
  return sharing.tries_left();
}

/// Shares within groups of 64 ranks, which change: of neighbours, then of those that stand in the same place of them.
/// Where many partners would have to be tried among all, few ranks among themselves find better ways in less time.
void share_in_groups(const std::vector<Side>& sides, Tokens& tokens, SharingOptions options) {
  constexpr std::size_t width = 64;
  for (std::size_t stride = 1; stride < sides.size(); stride *= width) {
    for (std::size_t first = 0; first < sides.size(); ++first) {
      if (first / stride % width != 0) {
        continue;
      }
      std::vector<Side> group;
      Tokens its;
      for (std::size_t rank = first; rank < std::min(sides.size(), first + stride * width); rank += stride) {
        group.push_back(sides[rank]);
        its.push_back(std::move(tokens[rank]));
      }
      Sharing sharing{std::move(group), std::move(its), options};
      options.tries = run(sharing);
      for (std::size_t i = 0; i < sharing.tokens().size(); ++i) {
        tokens[first + i * stride] = sharing.tokens()[i];
      }
    }
  }
}

}  // namespace

Sharing::Sharing(std::vector<Side> sides, std::vector<std::vector<Token>> tokens, const SharingOptions& options)
    : options_{options}, sides_{std::move(sides)}, tokens_{std::move(tokens)}, costs_(sides_.size()) {
  for (std::uint32_t rank = 0; rank < sides_.size(); ++rank) {
    std::ranges::sort(tokens_[rank], before_token);
    costs_[rank] = cost_of(sides_[rank], tokens_[rank]);
    order_.emplace(costs_[rank], rank);
  }
}

bool Sharing::step() {
  const auto [most, heavy] = *order_.rbegin();
  if (most <= options_.goal || options_.tries == 0) {
    return false;
  }
  const double wanted = most - part_to_win * (most - options_.goal);
  double best = most * (1 - tolerance);
  std::uint32_t partner = heavy;
  for (auto place = order_.begin(); place->second != heavy && best > wanted; ++place) {
    if (options_.tries-- == 0) {
      options_.tries = 0;
      break;
    }
    const double cost = shared_cost(heavy, place->second);
    if (cost < best) {
      best = cost;
      partner = place->second;
    }
  }
  if (partner == heavy) {
    return false;
  }
  (void)shared_cost(heavy, partner);
  std::vector<Token> mine;
  std::vector<Token> its;
  for (std::size_t i = 0; i < both_.size(); ++i) {
    (way_[i] != 0 ? mine : its).push_back(both_[i]);
  }
  take(heavy, std::move(mine));
  take(partner, std::move(its));
  return true;
}

double Sharing::cost_of(const Side& side, const std::vector<Token>& tokens) const {
  double sum = side.load;
  for (const Token& token : tokens) {
    sum += token.load + (token.home == side.rank ? 0 : token.bytes * options_.moved);
  }
  return sum;
}

/// The larger cost of both after sharing; leaves what they share in `both_`, and how in `way_`.
double Sharing::shared_cost(std::uint32_t heavy, std::uint32_t light) {
  const std::vector<Token>& first = tokens_[heavy];
  const std::vector<Token>& second = tokens_[light];
  both_.clear();
  way_.clear();
  auto one = first.begin();
  auto other = second.begin();
  while (one != first.end() || other != second.end()) {
    const bool is_first = other == second.end() || (one != first.end() && before_token(*one, *other));
    both_.push_back(is_first ? *one++ : *other++);
    way_.push_back(is_first ? 1 : 0);
  }
  if (!divide(both_, sides_[heavy], sides_[light], way_, {.moved = options_.moved, .tolerance = tolerance})) {
    return costs_[heavy];
  }
  double mine = sides_[heavy].load;
  double its = sides_[light].load;
  for (std::size_t i = 0; i < both_.size(); ++i) {
    const bool is_mine = way_[i] != 0;
    const bool is_home = both_[i].home == sides_[is_mine ? heavy : light].rank;
    (is_mine ? mine : its) += both_[i].load + (is_home ? 0 : both_[i].bytes * options_.moved);
  }
  return std::max(mine, its);
}

void Sharing::take(std::uint32_t rank, std::vector<Token> tokens) {
  order_.erase({costs_[rank], rank});
  tokens_[rank] = std::move(tokens);
  costs_[rank] = cost_of(sides_[rank], tokens_[rank]);
  order_.emplace(costs_[rank], rank);
}

void share_out(const Problem& problem, Placement& placement, double tolerance_of_bound, std::uint64_t tries) {
  const std::vector<double> loads = fixed_loads(problem);
  const std::vector<double> bytes = fixed_bytes(problem);
  std::vector<double> before(problem.rank_count, 0.0);
  std::vector<std::vector<Token>> tokens(problem.rank_count);
  for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
    const Object& object = problem.objects[i];
    before[object.rank.value()] += object.bytes;
    if (object.is_migratable) {
      tokens[placement[i].value()].push_back({object.load, object.bytes, object.rank, i});
    }
  }
  std::vector<Side> sides;
  for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
    sides.push_back({Rank{rank}, loads[rank], bytes[rank], std::max(before[rank], problem.memory_max)});
  }
  const double goal = load_bound(problem) * (1 + tolerance_of_bound);
  SharingOptions options{.goal = goal, .moved = problem.weights.moved, .tries = tries / 8};
  Sharing first{sides, std::move(tokens), options};
  (void)run(first);
  tokens = first.tokens();
  if (!first.is_good_enough()) {
    for (int sweep = 0; sweep < 4; ++sweep) {
      options.tries = tries / 4;
      share_in_groups(sides, tokens, options);
    }
    options.tries = tries / 4;
    Sharing last{sides, std::move(tokens), options};
    (void)run(last);
    tokens = last.tokens();
  }
  for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
    for (const Token& token : tokens[rank]) {
      placement[token.number] = Rank{rank};
    }
  }
}

}  // namespace plait::data::balance::detail
