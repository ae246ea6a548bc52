// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "plait/base/random.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// The prediction of a plain model of a network for a schedule: it goes from stream to stream and does what can be
/// done.
struct CarriedOut {
  bool is_finished = false;
  std::string stuck;  ///< The first operation that could not be done.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, int> messages;  ///< By source, destination, bytes.
  std::map<std::uint32_t, int> collectives;                                         ///< Entered, by communicator.
  nanoseconds computed{};
};

/// Sends complete when their receive has begun, receives when their send has, collectives when all members have begun.
/// A receive of another size than its send, and a second collective of a rank, end it as unfinished.
[[nodiscard]] CarriedOut carry_out(const Schedule& schedule);

/// An exchange that can be carried out, put together by chance: messages on several communicators with few tags, waits
/// for some of what is open, collectives of all kinds on all ranks and on some, computing.
[[nodiscard]] Schedule random_schedule(Random& random, std::uint32_t ranks, int length);

}  // namespace plait::replay
