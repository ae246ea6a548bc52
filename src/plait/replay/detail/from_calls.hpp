// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/base/clock.hpp"
#include "plait/replay/from_trace.hpp"
#include "plait/replay/schedule.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// What of a rank's run is wanted, by its own clock: from `begin` up to `end`.
struct TimeRange {
  nanoseconds begin{};
  nanoseconds end{};
  [[nodiscard]] bool contains(nanoseconds time) const { return begin <= time && time < end; }
};

/// The schedule of a program recorded from outside. `ranges` has one for each rank.
[[nodiscard]] Schedule schedule_from_calls(const trace::RunTrace& run,
                                           std::span<const TimeRange> ranges,
                                           const FromTraceOptions& options);

/// The schedule of a run that has messages, but no calls.
[[nodiscard]] Schedule schedule_from_messages(const trace::RunTrace& run,
                                              std::span<const TimeRange> ranges,
                                              const FromTraceOptions& options);

/// Lets all times count from the first operation's and sets the length.
void count_from_the_beginning(Schedule& schedule, nanoseconds beginning);

}  // namespace plait::replay::detail
