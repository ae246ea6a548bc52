// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/replay/detail/from_calls.hpp"
#include "plait/replay/schedule.hpp"
#include "plait/replay/task_run.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// Whether each rank of the run has tasks whose order is known: of one worker, of graphs or of flows,
/// or recorded with what they came after.
[[nodiscard]] bool has_ordered_tasks(const trace::RunTrace& run);

/// The exchange of such a run by what depended on what. Each worker is a stream with its tasks in their order. Before a
/// task, it waits for the messages that this depended on, and for those of other workers' tasks. A message is of the
/// stream that sends it, or that waits for it first. Throws: `Error` as `tasks_of_run`.
[[nodiscard]] Schedule schedule_from_tasks(const trace::RunTrace& run, StepRange steps);

/// As above, with the calls of MPI of each thread between and inside its tasks, in the order in which it did them. The
/// messages of tasks are on a communicator of their own. `ranges`: the times of the steps, one for each rank.
[[nodiscard]] Schedule schedule_from_tasks_and_calls(const trace::RunTrace& run,
                                                     std::span<const TimeRange> ranges,
                                                     StepRange steps);

}  // namespace plait::replay::detail
