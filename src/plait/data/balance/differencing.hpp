// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

struct DifferencingOptions {
  std::uint32_t tries = 0;  ///< Of exchanges, to refine what came out, as `Refine` does.
};

/// Largest differencing, for any number of ranks: each object begins as a row of one load and zeros; the two rows that
/// are most uneven become one, the heaviest of one with the lightest of the other, until one row is left.
///
/// Karmarkar and Karp, "The differencing method of set partitioning", 1982; for how far off it can be: Michiels, Aarts,
/// Korst, van Leeuwen and Spieksma, "Computer-assisted proof of performance ratios for the differencing method", 2007.
/// What cannot leave is one row, of all ranks, from the beginning. Knows nothing of edges; where memory does not allow
/// what comes out, shares from what is now. Cost: objects * log(objects), and more for loads that differ much.
class Differencing final : public Balancer {
 public:
  explicit Differencing(const DifferencingOptions& options = {}) : options_{options} {}
  /// `tries`.
  explicit Differencing(Settings& settings) : options_{.tries = settings.count("tries", 0)} {}

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Decision decide(const Problem& problem) const override;

 private:
  DifferencingOptions options_;
};

}  // namespace plait::data::balance
