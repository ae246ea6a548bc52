// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// Weighted recursive bisection: cuts the box of the objects across its longest side so that both halves of the ranks
/// get loads as even as can be, and each half again, down to one rank.
///
/// Ranks go to the side where what they have now is, those of a node together, so that a small change of loads moves
/// few objects. Edges and weights decide only whether
/// anything moves at all: not where what is now costs less. Objects are expected to have positions; of several at one
/// place, those with lower ids go to one side. Cost: O(objects log objects log ranks). Source: Berger and Bokhari, IEEE
/// Transactions on Computers C-36 (1987), with the cut that makes the larger half smallest.
class Bisection final : public Balancer {
 public:
  Bisection() = default;
  /// Has no options.
  explicit Bisection(Settings& /*settings*/) {}

  [[nodiscard]] std::string name() const override { return "bisection"; }
  [[nodiscard]] Decision decide(const Problem& problem) const override;
};

}  // namespace plait::data::balance
