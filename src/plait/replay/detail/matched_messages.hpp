// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// Which messages of a run can be replayed: those with both sides.
struct MatchedMessages {
  /// By rank and index in `RankTrace::messages`: the sender's bytes, or nothing for a message that is left out.
  std::vector<std::vector<std::optional<std::uint64_t>>> bytes;
  /// What was left out, with ranks, tag, size, time and the place in the program where that is known.
  std::vector<std::string> notices;
};

/// Pairs sends and receives. A message that never completed at its receiver is left out on both sides; one that only
/// its sender does not know the end of is kept. `is_wanted(rank, index)` is called for sends only; receives follow. The
/// runtime's own messages are left out without a word. Cost: sorts the messages.
[[nodiscard]] MatchedMessages match_messages(const trace::RunTrace& run,
                                             const std::function<bool(std::uint32_t, std::size_t)>& is_wanted);

}  // namespace plait::replay::detail
