// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/data/balance/distributed.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

struct HypercubeOptions {
  std::uint32_t sweeps = 2;      ///< Over all dimensions.
  std::uint32_t dimensions = 4;  ///< That one step covers: 2^dimensions ranks share at once, at the first of them.
  double tolerance = 1e-3;       ///< Of a group's mean: loads no more above it are even enough, and move nothing.
};

/// Ranks whose numbers differ in a few bits only share what they have, bits after bits (dimension exchange: Cybenko,
/// "Dynamic load balancing for distributed memory multiprocessors", 1989): the first of 2^dimensions ranks works out
/// who of them shall have what (`detail::Sharing`), or both of two do, when `dimensions` is 1. No sorting, no
/// agreement; no rank knows more than what its group has. Where the number of ranks is no power of two, some groups are
/// smaller.
///
/// Knows nothing of edges. A sweep: ceil(log2(ranks) / dimensions) steps of 2 rounds (of 1 round for pairs) and of 2
/// messages a rank (1 for pairs). Then one round for homes.
class Hypercube final : public DistributedBalancer {
 public:
  explicit Hypercube(const HypercubeOptions& options = {}) : options_{options} {}
  /// `sweeps`, `dimensions`, `tolerance`.
  explicit Hypercube(Settings& settings);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Steps<Placement> part(Rounds& rounds, LocalProblem problem) const override;

 private:
  HypercubeOptions options_;
};

}  // namespace plait::data::balance
