// SPDX-License-Identifier: Apache-2.0
// How two ranks divide the objects of both.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/data/balance/problem.hpp"

namespace plait::data::balance::detail {

/// Stands for an object while ranks negotiate.
struct Token {
  double load;
  double bytes;
  Rank home;             ///< The present rank of the object.
  std::uint32_t number;  ///< Of the object on that rank.
};

/// A rank without its tokens.
struct Side {
  Rank rank;
  double load = 0;       ///< Of what cannot leave.
  double bytes = 0;      ///< Of what cannot leave.
  double bytes_max = 0;  ///< At the end.
};

struct DivideOptions {
  double moved = 0;         ///< Cost of a byte away from home, in seconds.
  double tolerance = 1e-6;  ///< A smaller relative gain moves nothing.
  double even = 0;          ///< Costs up to this, or up to the mean of both, are equal: then what moves least wins.
};

/// Divides `tokens`, which are in order of `before_token`, between `left` and `right`, so that the larger cost is
/// small. `is_left` is the present side of each, and the new one at the end. Returns whether it has changed, always for
/// less cost.
///
/// Up to ten tokens: the best of all ways. More: few exchanges from the present sides; if that is not even enough,
/// largest differencing (Karmarkar and Karp, "The differencing method of set partitioning", 1982) and exchanges of two
/// tokens. Pure: both ranks get the same result. Cost: n log n.
bool divide(std::span<const Token> tokens,
            const Side& left,
            const Side& right,
            std::vector<char>& is_left,
            const DivideOptions& options);

/// The heavier first; of equal ones by home, so that all ranks have one order.
[[nodiscard]] bool before_token(const Token& one, const Token& other);

}  // namespace plait::data::balance::detail
