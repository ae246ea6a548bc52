// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plait/trace/reader.hpp"

namespace plait::trace {

/// From here on, sequence numbers of received messages without a send.
inline constexpr std::uint32_t sent_by_nobody = 0x8000'0000;

/// Gives the messages of programs recorded from outside the sequence numbers that others have from the start: within
/// (source, destination, communicator), the same on both sides.
///
/// As MPI matches: of all messages with the same source, destination, communicator and tag, the n-th that was sent is
/// the n-th that was received, each in the order of posting. `read_run` does this. Cost: sorts the messages.
void match_by_order(std::vector<RankTrace>& ranks);

}  // namespace plait::trace
