// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/data/balance/distributed.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// As published, with vt's values where nothing is said.
struct GossipOptions {
  /// When a rank with load `mine` may give an object to one that it believes to have `other`.
  enum class Criterion : std::uint8_t {
    modified,  ///< object < mine - other: neither becomes what the first was.
    original,  ///< object + other < mean: Grapevine's.
  };
  /// In which order a rank offers its objects.
  enum class Order : std::uint8_t { fewest, heaviest, lightest, given };
  std::uint32_t fanout = 0;      ///< Ranks that each tells in a round; 0: the `rounds`-th root of the number of ranks.
  std::uint32_t rounds = 0;      ///< Of telling; 0: the root of log2(ranks).
  std::uint32_t iterations = 4;  ///< Of telling and giving; what was best counts.
  Criterion criterion = Criterion::modified;
  Order order = Order::fewest;
  std::uint64_t seed = 1;
};

/// Gossip, for comparison: ranks with less than the mean tell some at random, who tell others; then ranks with more
/// give objects to those that they have heard of, at random, by how much these lack.
///
/// Menon and Kale, "A distributed dynamic load balancer for iterative applications", 2013 (Grapevine); Lifflander,
/// Slattengren, Pebay, Miller, Rizzi and Bettencourt, "Optimizing distributed load balancing for workloads with
/// time-varying imbalance", 2021 (TemperedLB). Receivers do not say no, but where memory is short. Knows nothing of
/// edges. An iteration: 2 ceil(log2(ranks)) rounds to agree on the mean, `rounds` and one or two more.
class Gossip final : public DistributedBalancer {
 public:
  explicit Gossip(const GossipOptions& options = {}) : options_{options} {}
  /// `fanout`, `rounds`, `iterations`, `criterion` (modified, original), `order` (fewest, heaviest, lightest, given),
  /// `seed`.
  explicit Gossip(Settings& settings);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Steps<Placement> part(Rounds& rounds, LocalProblem problem) const override;

 private:
  GossipOptions options_;
};

}  // namespace plait::data::balance
