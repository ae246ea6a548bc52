// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// Places the heaviest object first, each on the rank with least load so far.
///
/// Graham, "Bounds on multiprocessing timing anomalies", 1969: at most 4/3 - 1/(3 ranks) times the best load. Where
/// edges cost anything, an object may also join its neighbours. Nothing moves unless the result is better than the
/// present placement. Cost: objects * (log(objects) + log(ranks)); objects * ranks where memory is short.
class Greedy final : public Balancer {
 public:
  Greedy() = default;
  /// Has no options.
  explicit Greedy(Settings& /*settings*/) {}

  [[nodiscard]] std::string name() const override { return "greedy"; }
  [[nodiscard]] Decision decide(const Problem& problem) const override;
};

}  // namespace plait::data::balance
