// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// The same exchange with messages in the place of collectives, for what knows messages only.
///
/// Where the collective is waited for at once, the usual algorithms are in: dissemination for barriers and
/// all-gathers, binomial trees for broadcast and reduce (an all-reduce is one after the other), a chain for scans; all
/// others, and collectives that merely begin, are sent directly between all concerned. Bytes are what the sender's
/// operation gives. The messages go over communicators of their own, from `expanded_communicator` on, which have the
/// members of the old ones; reducing itself costs nothing.
///
/// Expects: every member enters every collective of its communicator, in the same order.
[[nodiscard]] Schedule without_collectives(const Schedule& schedule);

/// Messages that replace collectives on communicator c are on this one + c.
inline constexpr std::uint32_t expanded_communicator = 0x4000'0000;

}  // namespace plait::replay
