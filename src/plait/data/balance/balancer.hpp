// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/data/balance/problem.hpp"

namespace plait::data::balance {

/// What a balancer has decided, and what deciding took.
struct Decision {
  Placement placement;
  std::uint32_t rounds = 0;         ///< Of messages, one after the other, that the ranks need for it.
  std::uint64_t messages = 0;       ///< Of all ranks.
  std::uint64_t message_bytes = 0;  ///< Of all ranks.
};

/// Places objects on ranks anew. Pure: the same problem gives the same decision, on every rank.
///
/// Objects that are not migratable stay. Where the memory of ranks allows no placement that respects the limit, no
/// rank is made worse. Threads: any, for different objects of this class.
class Balancer {
 public:
  Balancer() = default;
  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;
  virtual ~Balancer() = default;

  /// With its options, as it is named in tables.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Throws: `Error` with `bad_argument` for a problem that makes no sense: NaN or negative loads, ranks that do not
  /// exist.
  [[nodiscard]] virtual Decision decide(const Problem& problem) const = 0;
};

}  // namespace plait::data::balance
