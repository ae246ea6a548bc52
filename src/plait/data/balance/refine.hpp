// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

struct RefineOptions {
  enum class From : std::uint8_t { greedy, now };
  From from = From::greedy;         ///< Where it begins. From what is now, few objects move.
  double tolerance = 1e-5;          ///< Of the bound (`load_bound`): no better than that is looked for.
  std::uint32_t tries = 1'000'000;  ///< Of partners, in all.
};

/// Has the rank with most share its objects with another, the lightest that helps much: any number of objects may
/// change places. Again until no partner helps, the tolerance is met, or the tries are used up.
///
/// Knows nothing of edges beyond those that where it begins has heeded. Cost: as greedy, and `tries` divisions of the
/// objects of two ranks at most, of 0.3 us when they are few: with few objects a rank quality costs time.
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
