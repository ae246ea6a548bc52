// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/replay/task_run.hpp"

namespace plait::replay {

/// The part of the computing time of a recorded run, 0 to 1, in which another core of the same host computed, too: in
/// a task, or in the program outside of tasks. What that slowed them is in the recorded times of tasks. Cost: a sort.
[[nodiscard]] double part_beside_others(const TaskRun& run);

}  // namespace plait::replay
