// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "plait/base/clock.hpp"
#include "plait/replay/schedule.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// What of a rank's run is wanted, by its own clock: from `begin` up to `end`.
struct TimeRange {
  nanoseconds begin{};
  nanoseconds end{};
  [[nodiscard]] bool contains(nanoseconds time) const { return begin <= time && time < end; }
};

/// The schedule of a program recorded from outside. `ranges` has one for each rank; `step` is the number of all
/// operations.
[[nodiscard]] Schedule schedule_from_calls(const trace::RunTrace& run,
                                           std::span<const TimeRange> ranges,
                                           std::uint32_t step);

/// The schedule of a run that has messages, but no calls.
[[nodiscard]] Schedule schedule_from_messages(const trace::RunTrace& run, std::span<const TimeRange> ranges);

/// When each step begins on the rank: where its graph first runs in it, or where its first span begins.
[[nodiscard]] std::map<std::uint32_t, nanoseconds> step_begins(const trace::RankTrace& trace);

/// Lets all times count from the first operation's and sets the length.
void count_from_the_beginning(Schedule& schedule, nanoseconds beginning);

}  // namespace plait::replay::detail
