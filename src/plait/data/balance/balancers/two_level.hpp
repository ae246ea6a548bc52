// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

struct TwoLevelOptions {
  std::unique_ptr<Balancer> among;   ///< Decides which node has what.
  std::unique_ptr<Balancer> within;  ///< Decides which rank of its node.
  double tolerance = 0.01;           ///< Nodes whose loads are even to this part exchange nothing.
  std::uint32_t group = 0;           ///< Ranks that count as a node where the problem has one node; 0: all of them.
};

/// Balances nodes against one another, where they are not even, and then the ranks of each node, all nodes at once.
///
/// Between nodes goes only what must, and no rank sees more than the objects of its node. The other way around, ranks
/// first, would decide within the nodes twice. Both levels are other balancers: among nodes one that moves little
/// serves best, within them one that is exact. Nodes may have different numbers of ranks.
class TwoLevel final : public Balancer {
 public:
  explicit TwoLevel(TwoLevelOptions options) noexcept : options_{std::move(options)} {}
  /// Options: among, within (names of balancers), tolerance, group.
  explicit TwoLevel(Settings& settings);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Decision decide(const Problem& problem) const override;

 private:
  TwoLevelOptions options_;
};

}  // namespace plait::data::balance
