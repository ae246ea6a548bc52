// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace plait::comm {

class Group;

/// Calls `work` on this member; throws on every member the error of the lowest member whose `work` threw.
///
/// Collective; waits and makes progress. Afterwards no member needs this one's progress: the program may block
/// elsewhere. `work` must not wait for a member whose `work` may fail first. Other exceptions become an `Error` with
/// `io` or `out_of_memory`; `Error::rank` is the member's rank. Also throws as `Endpoint::progress_until`. Cost: one
/// all-gather of 8 bytes from each member when nothing has failed.
void agree(const Group& group, const std::function<void()>& work);

}  // namespace plait::comm
