// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/replay/predict/predict_tasks.hpp"

namespace plait::replay {

/// What a change of a run would gain.
struct TaskGain {
  std::string what;  ///< As in a sentence: "`walk`", "a network", "the program outside of tasks".
  double gain = 0;   ///< The part of the total time that it saves; negative if it takes longer.
};

/// What it would gain to make each of these twice as fast, largest first: the kinds of tasks that take most time, at
/// most `kinds_max`; the network; and the program outside of tasks. Each is scheduled anew: a kind that others can
/// replace on the critical path gains less than its part of that path. Cost: a prediction for each. Error: as
/// `predict_tasks`.
[[nodiscard]] Result<std::vector<TaskGain>> gains_of(const TaskRun& run,
                                                     const Platform& platform,
                                                     const TaskOptions& options,
                                                     std::size_t kinds_max);

/// "Making `walk` twice as fast would gain 21 %; `sort`, 4 %; a network twice as fast, 2 %."
[[nodiscard]] std::string sentence_of(const std::vector<TaskGain>& gains);

/// The number of a kind of task. Error: `bad_argument` with the kinds that the run has.
[[nodiscard]] Result<std::uint32_t> find_kind(const TaskRun& run, const std::string& name);

}  // namespace plait::replay
