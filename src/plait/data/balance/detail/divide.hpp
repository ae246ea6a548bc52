// SPDX-License-Identifier: Apache-2.0
// How two ranks share what both have: the step that pairwise balancers repeat.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/data/balance/problem.hpp"

namespace plait::data::balance::detail {

/// An object as it is passed about while ranks negotiate.
struct Token {
  double load;
  double bytes;
  Rank home;             ///< Where it is in truth.
  std::uint32_t number;  ///< There, in the order of objects.
};

/// What one of the two has besides tokens.
struct Side {
  Rank rank;
  double load = 0;       ///< Of what cannot leave.
  double bytes = 0;      ///< Of what cannot leave.
  double bytes_max = 0;  ///< What it may have in the end.
};

struct DivideOptions {
  double moved = 0;         ///< Seconds a byte away from home costs.
  double tolerance = 1e-6;  ///< A gain in cost below this part of it moves nothing.
  std::size_t exact = 10;   ///< Up to so many tokens all ways are tried.
  double even = 0;          ///< Costs at most this are alike: of such ways, that which moves least wins.
  double slack = 0;         ///< As are those that are no more than this part above the mean of both.
};

/// Shares `tokens`, in order of `before_token`, between `left` and `right`, so that the larger cost is small;
/// `is_left` is where each is, and afterwards where it goes. True when that has changed, which it has only for less
/// cost.
///
/// Few tokens: the best of all ways. Many: as few exchanges as do from where they are now; where that is not even
/// enough, largest differencing (Karmarkar and Karp, "The differencing method of set partitioning", 1982), and then
/// exchanges of two tokens. Pure: both ranks come to the same. Cost: n log n.
bool divide(std::span<const Token> tokens,
            const Side& left,
            const Side& right,
            std::vector<char>& is_left,
            const DivideOptions& options);

/// The heavier first; of equal ones by home, so that all ranks have one order.
[[nodiscard]] bool before_token(const Token& one, const Token& other);

}  // namespace plait::data::balance::detail
