// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "plait/base/error.hpp"
#include "plait/replay/schedule.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay {

/// Returns the exchange of a run, or of one step of it.
///
/// In a recorded MPI program, each thread is a stream. The time between its calls is computing. Blocking calls become a
/// start and a wait. Waits and tests wait for exactly the operations that completed in them; those that completed
/// nothing become polls. A program that tests again within 2 us is waiting: the time between is not computing. Calls
/// that create communicators or windows, and fences, become barriers. One-sided transfers are left out, with a notice.
///
/// In a run of tasks, each worker of a rank is a stream: its tasks in their order, and before each a wait for the
/// messages that it depended on, and for tasks of other workers that it came after.
///
/// In a run that has both, calls are between and inside the tasks of their thread, in its order. Where the order of
/// tasks is not known, or an engine moved the messages of the calls (`plait accelerate`), the calls alone are taken.
///
/// In other runs (SWIFT's logs, tasks of several workers without a known order), each rank has one stream: its sends
/// and receives at their logged times, and a wait for all of them at the end of each step. All times are by rank 0's
/// clock.
///
/// What cannot be replayed is left out on both sides, with a sentence in `Schedule::notices`: incomplete messages,
/// sends and receives without a partner, collectives that not all members entered. Error: `bad_input` for a run without
/// messages and calls, or without the step. Cost: sorts the messages; about 200 bytes of memory for each.
[[nodiscard]] Result<Schedule> schedule_from_run(const trace::RunTrace& run, std::optional<std::uint32_t> step = {});

/// As above, for the run in a folder.
[[nodiscard]] Result<Schedule> schedule_from_folder(const std::filesystem::path& folder,
                                                    std::optional<std::uint32_t> step = {});

/// Whether the exchange of the run has both: calls of MPI, and tasks of plait's engine with their messages.
[[nodiscard]] bool has_calls_and_tasks(const trace::RunTrace& run);

}  // namespace plait::replay
