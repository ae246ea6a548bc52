// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "plait/base/clock.hpp"
#include "plait/replay/schedule.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// The part of a rank's run that is wanted, by its own clock: from `begin` to before `end`.
struct TimeRange {
  nanoseconds begin{};
  nanoseconds end{};
  [[nodiscard]] bool contains(nanoseconds time) const { return begin <= time && time < end; }
};

/// The schedule of a recorded MPI program. `ranges`: one for each rank. `step`: of all operations.
[[nodiscard]] Schedule schedule_from_calls(const trace::RunTrace& run,
                                           std::span<const TimeRange> ranges,
                                           std::uint32_t step);

/// The schedule of a run with messages, but without calls.
[[nodiscard]] Schedule schedule_from_messages(const trace::RunTrace& run, std::span<const TimeRange> ranges);

/// When each step begins on the rank: at its first run of a graph, or else at its first span.
[[nodiscard]] std::map<std::uint32_t, nanoseconds> step_begins(const trace::RankTrace& trace);

/// Makes all times relative to `beginning`, and sets the length.
void count_from_the_beginning(Schedule& schedule, nanoseconds beginning);

}  // namespace plait::replay::detail
