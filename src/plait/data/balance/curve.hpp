// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// Cuts a row of loads into one part for each of `background`, so that the largest part with its background is as small
/// as it can be for this order. Returns where each part ends: `ends[i]` is one past its last load.
///
/// Among the best cuts, those nearest to even parts. Cost: O(loads + 60 parts log loads): the largest part is found by
/// bisection, a greedy pass telling for each guess whether it can be kept.
[[nodiscard]] std::vector<std::size_t> split_row(std::span<const double> loads, std::span<const double> background);

struct CurveOptions {
  enum class Split : std::uint8_t {
    optimal,       ///< `split_row`.
    proportional,  ///< Where the sum so far passes the mean times the number of parts: what most codes do.
  };
  Split split = Split::optimal;
};

/// Objects in the order of a Hilbert curve through their positions, cut into a stretch for each rank.
///
/// Stretches are compact, so neighbours stay together mostly. Ranks take stretches in the order in which what they have
/// now lies on the curve, those of a node one after the other, so that a small change of loads moves few objects.
/// Objects without positions are taken in order of id. Edges and weights decide only whether
/// anything moves at all: not where what is now costs less. Cost: sorting the objects.
class Curve final : public Balancer {
 public:
  explicit Curve(const CurveOptions& options = {}) noexcept : options_{options} {}
  /// Option: split.
  explicit Curve(Settings& settings);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Decision decide(const Problem& problem) const override;

 private:
  CurveOptions options_;
};

}  // namespace plait::data::balance
