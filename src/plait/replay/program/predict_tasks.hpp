// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plait/replay/predict/what_if.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::program {

/// What `plait-predict` is asked of a run of tasks.
struct TaskQuestions {
  std::optional<std::uint32_t> step;
  std::uint64_t tasks_max = 0;  ///< Of longer runs, steps from the middle with about so many tasks; 0: all.
  std::string platform;         ///< A file; empty: the network as the run has met it.
  std::string model = "points";
  double tolerance = 0.05;
  std::vector<WhatIf> what_ifs;
  std::vector<std::uint32_t> workers;  ///< Each is a line of the table, as are the next two.
  std::vector<std::uint32_t> ranks;
  std::vector<std::string> faster;   ///< KIND=FACTOR.
  std::vector<std::string> without;  ///< Kinds of tasks that take no time.
  std::string against;
  std::string times_of;  ///< A run whose times of kinds in a step replace those of this one.
  std::string json;
  bool has_advice = true;
  bool has_all_gains = false;
};

/// Whether a run has tasks, so that its graph can be scheduled.
[[nodiscard]] bool has_tasks(const trace::RunTrace& run);

/// Schedules the tasks of a run as asked, and prints a table, and what would gain most. Throws: `Error` for questions
/// that the run cannot answer.
void predict_task_run(const trace::RunTrace& run, const TaskQuestions& questions);

}  // namespace plait::replay::program
