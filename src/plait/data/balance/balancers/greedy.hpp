// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// Places the heaviest object first, each on the rank that has least so far.
///
/// Graham, "Bounds on multiprocessing timing anomalies", 1969: at most 4/3 - 1/(3 ranks) times the best load. Where
/// edges cost anything, an object may also join those that it talks to. Where that finds nothing better than what is,
/// nothing moves. Cost: objects * (log(objects) + log(ranks)); without room for all, objects * ranks.
class Greedy final : public Balancer {
 public:
  Greedy() = default;
  /// Has no options.
  explicit Greedy(Settings& /*settings*/) {}

  [[nodiscard]] std::string name() const override { return "greedy"; }
  [[nodiscard]] Decision decide(const Problem& problem) const override;
};

}  // namespace plait::data::balance
