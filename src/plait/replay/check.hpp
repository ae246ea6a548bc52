// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// Returns why a replay of the schedule could not finish, in sentences that name each message with its ranks, tag, size
/// and place in the log. Empty if it can finish.
///
/// Checks for sends and receives without a partner, messages longer than their receive, collectives that members call
/// differently, and ranks and communicators that do not exist. If there are none, checks for streams that wait for one
/// another in a cycle; sends complete at once in this check. Returns at most `sentences_max` sentences and the number
/// of those omitted. Cost: sorts the messages.
[[nodiscard]] std::vector<std::string> find_trouble(const Schedule& schedule, std::size_t sentences_max = 8);

/// Describes an operation: "rank 1 receives 4096 bytes from rank 0, tag 7, communicator 0 (operation 12 of stream
/// main, 3.214 ms into the log)".
[[nodiscard]] std::string describe(const Operation& operation,
                                   std::uint32_t rank,
                                   const Stream& stream,
                                   std::size_t index);

[[nodiscard]] const char* to_string(Collective collective) noexcept;

}  // namespace plait::replay
