// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "plait/base/error.hpp"
#include "plait/replay/schedule.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay {

/// The exchange that a run did, or what of it belongs to one step.
///
/// Of a program recorded from outside (calls), each thread is a stream: what lies between its calls is computing, calls
/// that begin something are sends, receives and collectives, blocking calls a begin and a wait, waits and tests wait
/// for exactly the operations that completed in them; those that completed nothing are polls. A program that tests
/// again within 2 us of a "not yet" waits: the time between is no work. Calls that make communicators or windows, and
/// fences, hold all members up and become barriers. One-sided transfers are left out, with a notice.
///
/// Of other runs (plait's own tasks and messages, SWIFT's logs) each rank has one stream with its sends and receives
/// at their logged times and a wait for all at the end of each step. All times are on rank 0's clock.
///
/// What could not be replayed is left out on both sides, with a sentence in `Schedule::notices`: messages that had not
/// completed, receives without a send, sends without a receive, collectives that not all members entered. Error:
/// `bad_input` for a run without messages and calls, and for a step that it does not have. Cost: sorts the messages;
/// memory about 200 bytes each.
[[nodiscard]] Result<Schedule> schedule_from_run(const trace::RunTrace& run, std::optional<std::uint32_t> step = {});

/// Reads the run's folder, then as above.
[[nodiscard]] Result<Schedule> schedule_from_folder(const std::filesystem::path& folder,
                                                    std::optional<std::uint32_t> step = {});

}  // namespace plait::replay
