// SPDX-License-Identifier: Apache-2.0
// Many ranks share what they have, two at a time, as one of them, or a rank that sees the whole, works it out.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "plait/data/balance/detail/divide.hpp"
#include "plait/data/balance/problem.hpp"

namespace plait::data::balance::detail {

struct SharingOptions {
  double goal = 0;  ///< Cost of a rank that is good enough.
  double moved = 0;
  std::uint64_t tries = 1'000'000;  ///< Of partners, all steps together.
};

/// The rank with most shares with one that helps it well, until none helps, all is good enough, or all tries are used
/// up.
class Sharing {
 public:
  /// `sides[i]` has `tokens[i]`, in any order.
  Sharing(std::vector<Side> sides, std::vector<std::vector<Token>> tokens, const SharingOptions& options);

  /// False when it is at an end.
  [[nodiscard]] bool step();
  [[nodiscard]] bool is_good_enough() const { return order_.rbegin()->first <= options_.goal; }
  [[nodiscard]] std::uint64_t tries_left() const noexcept { return options_.tries; }
  /// By side.
  [[nodiscard]] const std::vector<std::vector<Token>>& tokens() const noexcept { return tokens_; }

 private:
  struct Shared {
    double cost = 0;
    std::vector<Token> heavy;
    std::vector<Token> light;
  };
  [[nodiscard]] double cost_of(const Side& side, const std::vector<Token>& tokens) const;
  [[nodiscard]] double shared_cost(std::uint32_t heavy, std::uint32_t light);
  void take(std::uint32_t rank, std::vector<Token> tokens);

  SharingOptions options_;
  std::vector<Side> sides_;
  std::vector<std::vector<Token>> tokens_;
  std::vector<double> costs_;
  std::set<std::pair<double, std::uint32_t>> order_;
  std::vector<Token> both_;
  std::vector<char> way_;
};

/// Betters `placement` so, to within `tolerance` of what is possible.
void share_out(const Problem& problem, Placement& placement, double tolerance, std::uint64_t tries);

}  // namespace plait::data::balance::detail
