// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/replay/predict/platform.hpp"
#include "plait/replay/predict/predict.hpp"
#include "plait/replay/task_run.hpp"

namespace plait::replay {

struct TaskOptions {
  std::uint32_t workers = 0;  ///< Of each rank; 0: as recorded.
  /// 0: as recorded. Fewer: the tasks of neighbouring ranks on one, and messages between them take no time.
  std::uint32_t ranks = 0;
  double program_factor = 1;        ///< Multiplies the times of the program outside of tasks.
  double compute_factor = 1;        ///< Multiplies the times of tasks and of the program.
  std::vector<double> kind_factor;  ///< Multiplies the times of each kind of task; missing entries are 1.
  Model model = Model::points;
  double tolerance = 0.05;   ///< As in `PredictOptions`.
  bool keeps_times = false;  ///< Fills `TaskPrediction::nodes`.
};

/// When a node ran, since the beginning; -1: it did not run.
struct NodeTimes {
  nanoseconds start{-1};
  nanoseconds end{-1};
  std::uint32_t worker = RunNode::none;
};

struct TaskPrediction {
  nanoseconds total{};  ///< Until the last task ended.
  std::uint32_t ranks = 0;
  std::uint32_t workers = 0;
  std::vector<nanoseconds> busy;     ///< Of each rank: the sum of its workers' times in tasks.
  std::vector<nanoseconds> program;  ///< Of each rank: the time in the program outside of tasks.
  std::uint64_t tasks = 0;
  std::uint64_t stolen = 0;    ///< Tasks that a worker took from another.
  std::uint64_t messages = 0;  ///< Between ranks.
  std::uint64_t bytes = 0;
  std::vector<NodeTimes> nodes;
  std::vector<std::string> notices;  ///< What the prediction could not know.

  /// The part of the workers' time in which they execute tasks, from 0 to 1.
  [[nodiscard]] double use() const noexcept;
};

/// Schedules the tasks of a run anew, by the rules of plait's workers: the most urgent task first (those that lead to a
/// send, then by the longest path to the end), a task that the last one made ready next on the same worker, tasks of a
/// graph on the worker that ran them last, batches of short ones, stealing, and locks that exclude each other.
///
/// Deterministic. Cost: about a microsecond a task. Error: `bad_input` if the tasks cannot finish or the ranks do not
/// fit on the platform, `bad_argument` for more ranks than were recorded.
[[nodiscard]] Result<TaskPrediction> predict_tasks(const TaskRun& run,
                                                   const Platform& platform,
                                                   const TaskOptions& options = {});

/// The network as the messages of the run have met it: the lowest tenth of the times of messages of each size, within
/// hosts and between hosts. What they took of tasks that ran meanwhile, see `TaskRun::stolen`. A run
/// without messages gives a network that takes no time.
[[nodiscard]] Platform platform_of(const TaskRun& run);

}  // namespace plait::replay
