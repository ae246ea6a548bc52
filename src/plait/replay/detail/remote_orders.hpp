// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plait/replay/detail/rank_tasks.hpp"
#include "plait/replay/detail/run_builder.hpp"

namespace plait::replay::detail {

/// Orders executions of elements after those of other ranks that have sent them messages, by a message for each pair.
///
/// The message leaves when the sender posted it, in the middle of its task. Its size is that of the active message in
/// the sender's trace that fits best. How long it took is not recorded. Cost: a search for each of them.
void order_remote(RunBuilder& builder, const std::vector<RankTasks>& ranks);

}  // namespace plait::replay::detail
