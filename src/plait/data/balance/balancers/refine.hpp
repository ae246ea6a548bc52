// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

struct RefineOptions {
  enum class From : std::uint8_t { now, greedy };
  From from = From::now;             ///< Where it begins. From what is now, few objects move.
  double tolerance = 1e-3;           ///< Of the bound (`load_bound`): no better than that is looked for.
  std::uint32_t tries = 10'000'000;  ///< Of exchanges, in all.
};

/// Moves few objects: each rank with too much gives away the fewest that do, and these go to where they fit best. Then
/// the rank with most exchanges a few objects with another, the fewest that help, until all are within the tolerance,
/// nothing helps, or the tries are used up (`detail::Sharing`). Few objects in all: every placement is tried, with what
/// cannot be better cut off, as far as the tries reach.
///
/// Knows nothing of edges; where they cost anything it begins from what greedy, which does, makes of it. Cost: objects
/// * log(objects), and `tries` times 10 ns at most: with two or three objects a rank quality costs time.
class Refine final : public Balancer {
 public:
  explicit Refine(const RefineOptions& options = {}) : options_{options} {}
  /// `from` (greedy, now), `tolerance`, `tries`.
  explicit Refine(Settings& settings);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Decision decide(const Problem& problem) const override;

 private:
  RefineOptions options_;
};

}  // namespace plait::data::balance
