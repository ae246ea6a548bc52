// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// Why a replay of the schedule could not finish: sentences that name each message with its ranks, tag, size and place
/// in the log. Empty when it can.
///
/// Looks for receives without a send and sends without a receive, messages longer than their receive, collectives that
/// the members of a communicator call differently, ranks and communicators that do not exist; where there is nothing
/// of these, for streams that wait for one another in a cycle, although sends are complete as soon as they are posted.
/// Reports `sentences_max` at most, and then how many there are more. Cost: sorts the messages.
[[nodiscard]] std::vector<std::string> find_trouble(const Schedule& schedule, std::size_t sentences_max = 8);

/// "rank 1 receives 4096 bytes from rank 0, tag 7, communicator 0 (operation 12 of stream main, 3.214 ms into the
/// log)".
[[nodiscard]] std::string describe(const Operation& operation,
                                   std::uint32_t rank,
                                   const Stream& stream,
                                   std::size_t index);

[[nodiscard]] const char* to_string(Collective collective) noexcept;

}  // namespace plait::replay
