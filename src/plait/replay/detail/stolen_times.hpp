// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plait/replay/task_run.hpp"

namespace plait::replay::detail {

/// That a thread in the background took so much processor time of a rank, by the run's time.
struct BackgroundTime {
  std::uint32_t rank = 0;
  nanoseconds start{};
  nanoseconds end{};
  nanoseconds took{};
};

/// Finds what messages take of the processor of a task that runs while they move: a thread in the background polls and
/// copies. Sets `TaskRun::stolen`, and `RunNode::stolen` of tasks and parts of the program.
///
/// Uses the measured times of that thread, those of a rank in the order of time. Traces that have none are estimated:
/// tasks of one kind in which bytes arrived or left are compared with the others. Kinds whose tasks differ much in
/// length are left out, as more messages meet the longer ones. Does nothing for several workers a rank, as the trace
/// does not have whose core it was. Cost: sorts tasks and messages.
void find_stolen_times(TaskRun& run, const std::vector<BackgroundTime>& measured = {});

}  // namespace plait::replay::detail
