// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/replay/task_run.hpp"

namespace plait::replay::detail {

/// Estimates what messages take of the processor of a task that runs while they move: a thread in the background copies
/// them. Sets `TaskRun::stolen_ns_per_byte`, and `RunNode::stolen` of the tasks in which bytes arrived or left.
///
/// Compares tasks of one kind with and without such bytes. Kinds whose tasks differ much in length are left out, as
/// more messages meet the longer ones. Does nothing for several workers a rank, as the trace does not have whose core
/// it was. Cost: sorts tasks and messages.
void find_stolen_times(TaskRun& run);

}  // namespace plait::replay::detail
