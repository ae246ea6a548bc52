// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// Returns the same exchange with messages in place of collectives.
///
/// A collective that all members wait for at once becomes the rounds of `detail::Rounds`, without rings. Any other
/// becomes one round, in which each member sends to all those concerned. Bytes are those that the sender gives. The
/// messages use communicators of their own, with the members of the old ones. Combining costs no time.
///
/// Expects: every member enters every collective of its communicator, in the same order.
[[nodiscard]] Schedule without_collectives(const Schedule& schedule);

/// Messages that replace collectives on communicator c are on this one + c.
inline constexpr std::uint32_t expanded_communicator = 0x4000'0000;

}  // namespace plait::replay
