// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/from_trace.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "plait/replay/detail/from_calls.hpp"
#include "plait/replay/detail/from_tasks.hpp"

namespace plait::replay {
namespace {

using detail::TimeRange;

/// The time of the step on each rank: until the next one begins.
Result<std::vector<TimeRange>> ranges_of(const trace::RunTrace& run, std::optional<std::uint32_t> step) {
  std::vector<TimeRange> ranges(run.ranks.size(), {nanoseconds::min(), nanoseconds::max()});
  if (!step) {
    return ranges;
  }
  std::set<std::uint32_t> known;
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    const auto begins = detail::step_begins(run.ranks[rank]);
    for (const auto& [number, start] : begins) {
      known.insert(number);
    }
    const auto found = begins.find(*step);
    ranges[rank] = {};
    if (found != begins.end()) {
      ranges[rank] = {found->second, nanoseconds::max()};
      for (const auto& [number, start] : begins) {
        if (start > found->second) {
          ranges[rank].end = std::min(ranges[rank].end, start);
        }
      }
    }
  }
  if (known.empty()) {
    return Error{
        ErrorCode::bad_input,
        "the trace does not contain the beginnings of steps (it has neither runs of graphs nor spans); omit the step"};
  }
  if (!known.contains(*step)) {
    return Error{ErrorCode::bad_input,
                 fmt::format("the run has no step {}; it has steps {} to {}", *step, *known.begin(), *known.rbegin())};
  }
  return ranges;
}

bool has_any_calls(const trace::RunTrace& run) {
  return std::ranges::any_of(run.ranks, [](const auto& rank) { return !rank.calls.empty(); });
}

/// Whether an engine recorded beside the calls that moved messages of its own, not those of the calls.
bool has_engine_of_its_own(const trace::RunTrace& run) {
  return std::ranges::all_of(run.ranks, [](const trace::RankTrace& rank) {
    return !rank.engines.empty() && std::ranges::none_of(rank.engines, &trace::EngineEvent::carries_calls);
  });
}

}  // namespace

Result<Schedule> schedule_from_run(const trace::RunTrace& run, std::optional<std::uint32_t> step) {
  auto ranges = ranges_of(run, step);
  if (!ranges) {
    return ranges.error();
  }
  const bool has_calls = has_any_calls(run);
  const bool has_messages = std::ranges::any_of(run.ranks, [](const auto& rank) { return !rank.messages.empty(); });
  if (!has_calls && !has_messages) {
    return Error{
        ErrorCode::bad_input,
        "the trace has neither messages nor calls, so there is nothing to replay; record one with `plait record`"};
  }
  const StepRange steps = step ? StepRange{*step, *step} : StepRange{};
  Schedule schedule;
  try {
    if (has_calls_and_tasks(run)) {
      schedule = detail::schedule_from_tasks_and_calls(run, ranges.value(), steps);
    } else if (has_calls) {
      schedule = detail::schedule_from_calls(run, ranges.value(), step.value_or(0));
    } else if (detail::has_ordered_tasks(run)) {
      schedule = detail::schedule_from_tasks(run, steps);
    } else {
      schedule = detail::schedule_from_messages(run, ranges.value());
    }
  } catch (const Error& error) {
    return error;
  }
  for (const trace::RankTrace& rank : run.ranks) {
    schedule.notices.insert(schedule.notices.end(), rank.notices.begin(), rank.notices.end());
  }
  return schedule;
}

bool has_calls_and_tasks(const trace::RunTrace& run) {
  return has_any_calls(run) && has_engine_of_its_own(run) && detail::has_ordered_tasks(run);
}

Result<Schedule> schedule_from_folder(const std::filesystem::path& folder, std::optional<std::uint32_t> step) {
  auto run = trace::read_run(folder);
  if (!run) {
    return run.error();
  }
  return schedule_from_run(run.value(), step);
}

}  // namespace plait::replay
