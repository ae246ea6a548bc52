// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plait/trace/reader.hpp"

namespace plait::trace {

/// Received messages without a send get sequence numbers from here.
inline constexpr std::uint32_t sent_by_nobody = 0x8000'0000;

/// Assigns sequence numbers within (source, destination, communicator) to messages of programs recorded from outside,
/// the same on both sides.
///
/// As in MPI, the n-th send of a source, destination, communicator and tag matches the n-th receive, each in the order
/// of posting. `read_run` does this. Cost: sorts the messages.
void match_by_order(std::vector<RankTrace>& ranks);

}  // namespace plait::trace
