// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/data/balance/problem.hpp"

namespace plait::data::balance {

/// The decision of a balancer, and the communication that it takes.
struct Decision {
  Placement placement;
  std::uint32_t rounds = 0;         ///< Of messages, one after the other.
  std::uint64_t messages = 0;       ///< Of all ranks.
  std::uint64_t message_bytes = 0;  ///< Of all ranks.
};

/// Computes a new placement. Pure: the same problem gives the same decision on every rank.
///
/// Objects that are not migratable stay. No rank exceeds the limit of memory further than at present. Threads: any, for
/// different objects of this class.
class Balancer {
 public:
  Balancer() = default;
  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;
  virtual ~Balancer() = default;

  /// The name in tables, with its options.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Throws: as `check` of the problem.
  [[nodiscard]] virtual Decision decide(const Problem& problem) const = 0;
};

}  // namespace plait::data::balance
