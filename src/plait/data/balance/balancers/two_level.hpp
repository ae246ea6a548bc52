// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// Balances nodes against one another, unless they are even, and then the ranks of each node, all nodes at once.
///
/// Little moves between nodes, and no rank sees more than the objects of its node. Both levels are other balancers:
/// among nodes one that moves little is best, within them an exact one. Nodes may have different numbers of ranks.
class TwoLevel final : public Balancer {
 public:
  /// Options: `among` and `within`, names of balancers; `tolerance`, the imbalance below which nodes exchange nothing;
  /// `group`, the number of ranks that count as a node where the problem has one node, 0 for all.
  explicit TwoLevel(Settings& settings);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Decision decide(const Problem& problem) const override;

 private:
  std::unique_ptr<Balancer> among_;
  std::unique_ptr<Balancer> within_;
  double tolerance_;
  std::uint32_t group_;
};

}  // namespace plait::data::balance
