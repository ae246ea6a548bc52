// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plait/replay/schedule.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// The messages of a run that can be replayed: those with a send and a receive.
struct MatchedMessages {
  /// The sender's bytes, by rank and index in `RankTrace::messages`; nothing for a message that is left out.
  std::vector<std::vector<std::optional<std::uint64_t>>> bytes;
  /// What was left out, with ranks, tag, size, time and, if known, call site.
  std::vector<std::string> notices;
};

/// Matches sends with receives. Leaves out, on both sides, messages that did not complete at the receiver, and without
/// a notice those of the runtime itself. `is_wanted(rank, index)` is called for sends; receives follow. Cost: sorts the
/// messages.
[[nodiscard]] MatchedMessages match_messages(const trace::RunTrace& run,
                                             const std::function<bool(std::uint32_t, std::size_t)>& is_wanted);

/// The operation that posts a message, at the time `at` of the schedule.
[[nodiscard]] Operation operation_of(const trace::MessageEvent& event,
                                     std::uint64_t bytes,
                                     std::uint32_t step,
                                     nanoseconds at);

}  // namespace plait::replay::detail
