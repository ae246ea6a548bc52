// SPDX-License-Identifier: Apache-2.0
// What the parts of distributed balancers share: tokens of objects that change hands, and the end, when their homes
// learn where they have come to.
#pragma once

#include <optional>
#include <vector>

#include "plait/data/balance/detail/divide.hpp"
#include "plait/data/balance/distributed.hpp"

namespace plait::data::balance::detail {

/// What one rank holds during a negotiation.
class Holding {
 public:
  Holding(Rank self, const LocalProblem& problem);

  [[nodiscard]] double load() const;
  [[nodiscard]] Rank self() const noexcept { return side.rank; }

  Side side;
  std::vector<Token> tokens;
};

/// One round: shares tokens with `partner`, which must name this rank, or with nobody. Answers whether any changed.
[[nodiscard]] Steps<bool> share(Rounds& rounds,
                                Holding& holding,
                                std::optional<Rank> partner,
                                const DivideOptions& options);

/// Two rounds: the members of a group send what they hold to the first of them, which works out who shall have what
/// (`Sharing`), and sends it back. Of the options, `moved` and `slack` count. All name the same members, in the same
/// order; a group of one pauses.
[[nodiscard]] Steps<bool> share_in_group(Rounds& rounds,
                                         Holding& holding,
                                         std::vector<Rank> members,
                                         DivideOptions options);

/// Tells homes where their objects have come to; answers where this rank's go. One round, and, where moving costs
/// anything, an agreement of all whether it was worth it.
[[nodiscard]] Steps<Placement> settle(Rounds& rounds, const Holding& holding, const LocalProblem& problem);

}  // namespace plait::data::balance::detail
