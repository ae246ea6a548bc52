// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plait/replay/detail/rank_tasks.hpp"
#include "plait/replay/detail/run_builder.hpp"
#include "plait/replay/detail/run_messages.hpp"

namespace plait::replay::detail {

/// Adds the program of a rank outside of its tasks: it starts graphs, submits tasks, sends and waits, one after the
/// other. A run of tasks that had ended before the program went on is taken as one that it waited for.
void order_program(RunBuilder& builder, const RankTasks& tasks, std::vector<LooseEnd>& loose);

/// Gives tasks that became ready later than all that they are known to wait for a message that came then, or else the
/// time between as a lag. `causes`: of `RunBuilder::last_causes`.
void explain_the_rest(RunBuilder& builder,
                      const RankTasks& tasks,
                      const std::vector<LooseEnd>& loose,
                      const std::vector<Cause>& causes);

}  // namespace plait::replay::detail
