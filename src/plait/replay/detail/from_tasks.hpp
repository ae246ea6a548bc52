// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/replay/schedule.hpp"
#include "plait/replay/task_run.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// Whether each rank of the run has tasks whose order is known: of one worker, of graphs or of flows.
[[nodiscard]] bool has_ordered_tasks(const trace::RunTrace& run);

/// The exchange of such a run by what depended on what. Each worker is a stream with its tasks in their order. Before a
/// task, it waits for the messages that this depended on, and for those of other workers' tasks. A message is of the
/// stream that sends it, or that waits for it first. Throws: `Error` as `tasks_of_run`.
[[nodiscard]] Schedule schedule_from_tasks(const trace::RunTrace& run, StepRange steps);

}  // namespace plait::replay::detail
