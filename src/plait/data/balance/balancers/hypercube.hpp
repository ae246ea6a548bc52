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

/// Balances groups of 2^dimensions ranks whose numbers differ in those bits, one set of bits after another (dimension
/// exchange: Cybenko, "Dynamic load balancing for distributed memory multiprocessors", 1989). The first rank of a group
/// decides for all of it (`detail::Sharing`). No sorting and no agreement; no rank knows more than its group's objects.
/// Where the number of ranks is not a power of two, some groups are smaller.
///
/// Ignores edges. A sweep takes ceil(log2(ranks) / dimensions) steps of 2 rounds and 2 messages a rank. One round at
/// the end notifies the homes.
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
