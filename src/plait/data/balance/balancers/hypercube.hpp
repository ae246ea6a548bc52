// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/data/balance/distributed.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// Balances groups of 2^dimensions ranks whose numbers differ in those bits, one set of bits after another (dimension
/// exchange: Cybenko, "Dynamic load balancing for distributed memory multiprocessors", 1989). The first rank of a group
/// decides for all of it (`detail::Sharing`). No rank knows more than the objects of its group. Where the number of
/// ranks is no power of two, some groups are smaller.
///
/// Ignores edges. A sweep takes ceil(log2(ranks) / dimensions) steps of 2 rounds and 2 messages a rank. One round at
/// the end notifies the ranks that have the objects.
class Hypercube final : public DistributedBalancer {
 public:
  /// Options: `sweeps` over all dimensions; `dimensions` of a step, of which 2^dimensions ranks form a group;
  /// `tolerance` above the mean of a group, within which nothing moves.
  explicit Hypercube(Settings& settings);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Steps<Placement> part(Rounds& rounds, LocalProblem problem) const override;

 private:
  std::uint32_t sweeps_;
  std::uint32_t dimensions_;
  double tolerance_;
};

}  // namespace plait::data::balance
