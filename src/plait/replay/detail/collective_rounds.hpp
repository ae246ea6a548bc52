// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/replay/schedule.hpp"

namespace plait::replay::detail {

/// One collective as all its members entered it. Indices are places in the communicator.
struct Entered {
  Collective kind = Collective::none;
  std::uint32_t root = 0;
  std::vector<std::uint64_t> given;                    ///< By member.
  std::vector<std::span<const std::uint64_t>> shares;  ///< By member; empty where there are none.
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(given.size()); }
  [[nodiscard]] std::uint64_t largest() const;
  /// What `from` gives to `to` where each gets something else.
  [[nodiscard]] std::uint64_t share(std::uint32_t from, std::uint32_t to) const;
};

struct RoundMessage {
  std::uint32_t peer = 0;
  std::uint64_t bytes = 0;
};

/// What a member does at once: then it waits for all of it.
struct Round {
  std::vector<RoundMessage> sends;
  std::vector<RoundMessage> receives;
};

/// The rounds of member `me`. `is_direct`: in one round, whatever it costs.
[[nodiscard]] std::vector<Round> rounds_of(const Entered& entered, std::uint32_t me, bool is_direct);

}  // namespace plait::replay::detail
