// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/data/balance/distributed.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

struct PairwiseOptions {
  std::uint32_t exchanges = 12;  ///< At most.
  double tolerance = 1e-3;       ///< Of the mean: loads no more above it are even enough, and move nothing.
  std::uint64_t seed = 1;        ///< Draws the pairs after the first few exchanges.
};

/// Sorts ranks by load, along a tree, and has the first share objects with the last, the second with the last but one,
/// by differencing; again and again. When the same would meet again, each of the heavier half meets one of the lighter
/// at random. Only a load a rank travels along the tree; objects are seen by the two ranks of a pair alone.
///
/// Knows nothing of edges. A time: 2 ceil(log2(ranks)) rounds of 2 (ranks - 1) messages, and one of a message a rank.
class Pairwise final : public DistributedBalancer {
 public:
  explicit Pairwise(const PairwiseOptions& options = {}) : options_{options} {}
  /// `exchanges`, `tolerance`, `seed`.
  explicit Pairwise(Settings& settings);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Steps<Placement> part(Rounds& rounds, LocalProblem problem) const override;

 private:
  PairwiseOptions options_;
};

}  // namespace plait::data::balance
