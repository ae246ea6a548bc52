// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// Weighted recursive coordinate bisection: cuts the box of the objects across its longest side, so that both halves of
/// the ranks get loads as even as possible, and each half again, down to one rank.
///
/// Ranks go to the side of their present objects, so that a small change of loads moves few objects. Those of a node
/// stay together if bytes between nodes have a weight. Otherwise, edges and weights matter only in the last step:
/// nothing moves unless that costs less. Objects need positions; of several at one position, those with lower ids go to
/// one side. Cost: O(objects log objects log ranks). Source: Berger and Bokhari, IEEE Transactions on Computers C-36
/// (1987).
class Bisection final : public Balancer {
 public:
  Bisection() = default;
  /// Has no options.
  explicit Bisection(Settings& /*settings*/) {}

  [[nodiscard]] std::string name() const override { return "bisection"; }
  [[nodiscard]] Decision decide(const Problem& problem) const override;
};

}  // namespace plait::data::balance
