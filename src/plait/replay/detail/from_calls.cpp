// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/from_calls.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "plait/replay/detail/call_writer.hpp"
#include "plait/replay/detail/places.hpp"
#include "plait/replay/detail/rank_calls.hpp"
#include "plait/replay/detail/stream_builder.hpp"

namespace plait::replay::detail {
namespace {

RankSchedule streams_of(const RankCalls& calls, std::uint32_t step, nanoseconds beginning, CallTotals& totals) {
  RankSchedule schedule;
  for (std::size_t thread = 0; thread < calls.threads().size(); ++thread) {
    CallWriter writer{calls, thread, step, beginning};
    if (writer.is_at_end()) {
      continue;
    }
    Stream& stream = schedule.streams.emplace_back();
    const auto& threads = calls.trace().threads;
    stream.name = thread < threads.size() ? threads[thread].name : std::string{};
    StreamBuilder builder{stream};
    while (!writer.is_at_end()) {
      writer.write_next(stream, builder, totals);
    }
    builder.wait_for_the_rest(writer.free(), step);
    totals.recording += writer.left_out();
    totals.recorded += writer.free() - beginning;
  }
  return schedule;
}

void count_tasks(const trace::RankTrace& trace, const TimeRange& range, CallTotals& totals) {
  for (const auto& [thread, task] : trace.tasks) {
    if (task.role == trace::TaskRole::compute && range.contains(task.start)) {
      ++totals.tasks;
      totals.tasks_took += task.end - task.start;
    }
  }
}

/// Computing threads of the engines that recorded beside the calls.
std::uint32_t workers_of(const trace::RunTrace& run) {
  std::uint32_t workers = 0;
  for (const trace::RankTrace& rank : run.ranks) {
    workers += rank.engines.empty() ? 1 : rank.engines.front().workers;
  }
  return workers;
}

}  // namespace

void count_from_the_beginning(Schedule& schedule, nanoseconds beginning) {
  nanoseconds end{};
  for_each_operation(schedule, [&](const auto& /*place*/, Operation& operation) {
    operation.at -= beginning;
    end = std::max(end, operation.at + operation.took);
  });
  schedule.length = end;
}

Schedule schedule_from_calls(const trace::RunTrace& run, std::span<const TimeRange> ranges, std::uint32_t step) {
  const MatchedRun matched{run, ranges};
  const nanoseconds beginning = beginning_of(run, ranges);
  Schedule schedule;
  schedule.communicators = matched.communicators;
  CallTotals totals;
  for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank) {
    const RankCalls calls{run.ranks[rank], run.clock_line(Rank{rank}), matched, ranges[rank], totals};
    count_tasks(run.ranks[rank], ranges[rank], totals);
    schedule.ranks.push_back(streams_of(calls, step, beginning, totals));
  }
  schedule.notices = matched.notices();
  count_from_the_beginning(schedule, beginning);
  totals.of_workers = schedule.length * workers_of(run);
  report(totals, schedule.notices);
  return schedule;
}

}  // namespace plait::replay::detail
