// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/replay/schedule.hpp"
#include "plait/replay/task_run.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// Whether each rank of the run has tasks, of one worker. With several, the order of their tasks among each other is
/// more than streams can hold.
[[nodiscard]] bool has_ordered_tasks(const trace::RunTrace& run);

/// The exchange of such a run by what depended on what: each rank computes its tasks in their order, and waits before a
/// task for the messages that this depended on. Throws: `Error` as `tasks_of_run`.
[[nodiscard]] Schedule schedule_from_tasks(const trace::RunTrace& run, StepRange steps);

}  // namespace plait::replay::detail
