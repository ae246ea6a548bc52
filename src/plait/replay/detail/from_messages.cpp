// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "plait/replay/detail/from_calls.hpp"
#include "plait/replay/detail/matched_messages.hpp"
#include "plait/replay/detail/stream_builder.hpp"

namespace plait::replay::detail {
namespace {

using trace::MessageEvent;

/// The step at a time.
std::uint32_t step_at(const std::map<std::uint32_t, nanoseconds>& begins, nanoseconds time) {
  std::uint32_t step = 0;
  nanoseconds latest = nanoseconds::min();
  for (const auto& [number, begin] : begins) {
    if (latest <= begin && begin <= time) {
      step = number;
      latest = begin;
    }
  }
  return step;
}

RankSchedule read_rank(const trace::RankTrace& trace,
                       const trace::ClockLine& clock,
                       const std::vector<std::optional<std::uint64_t>>& bytes,
                       nanoseconds beginning) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trace.messages.size(); ++i) {
    if (bytes[i]) {
      order.push_back(i);
    }
  }
  const auto posted = [&](std::size_t i) {
    return std::tuple{trace.messages[i].event.posted, trace.messages[i].event.sequence};
  };
  std::ranges::stable_sort(order, {}, posted);
  RankSchedule schedule;
  if (order.empty()) {
    return schedule;
  }
  Stream& stream = schedule.streams.emplace_back();
  stream.name = "messages";
  StreamBuilder builder{stream};
  const auto begins = step_begins(trace);
  nanoseconds now = beginning;
  nanoseconds ended{};
  std::optional<std::uint32_t> step;
  for (const std::size_t i : order) {
    const MessageEvent& event = trace.messages[i].event;
    const nanoseconds at = clock.to_rank_zero(event.posted);
    const std::uint32_t of = step_at(begins, event.posted);
    if (step && of != *step) {
      builder.wait_for_the_rest(std::max(now, ended), *step);
      now = std::max(now, ended);
    }
    step = of;
    builder.compute(now, at - now, of);
    now = std::max(now, at);
    const Operation operation = operation_of(event, *bytes[i], of, at);
    ended = std::max(ended, at + operation.took);
    builder.begin(operation);
  }
  builder.wait_for_the_rest(now, step.value_or(0));
  return schedule;
}

}  // namespace

std::map<std::uint32_t, nanoseconds> step_begins(const trace::RankTrace& trace) {
  std::map<std::uint32_t, nanoseconds> begins;
  const auto note = [&](std::uint32_t step, nanoseconds start) {
    const auto known = begins.try_emplace(step, start).first;
    known->second = std::min(known->second, start);
  };
  for (const auto& run : trace.graph_runs) {
    note(run.step, run.start);
  }
  if (begins.empty()) {
    for (const auto& [thread, span] : trace.spans) {
      note(span.step, span.start);
    }
  }
  return begins;
}

Schedule schedule_from_messages(const trace::RunTrace& run, std::span<const TimeRange> ranges) {
  Schedule schedule;
  const auto messages = match_messages(run, [&](std::uint32_t rank, std::size_t index) {
    return ranges[rank].contains(run.ranks[rank].messages[index].event.posted);
  });
  std::optional<nanoseconds> beginning;
  for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank) {
    const trace::ClockLine clock = run.clock_line(Rank{rank});
    for (std::size_t i = 0; i < messages.bytes[rank].size(); ++i) {
      if (messages.bytes[rank][i]) {
        const nanoseconds time = clock.to_rank_zero(run.ranks[rank].messages[i].event.posted);
        beginning = std::min(beginning.value_or(time), time);
      }
    }
  }
  const nanoseconds first = beginning.value_or(nanoseconds{});
  for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank) {
    schedule.ranks.push_back(read_rank(run.ranks[rank], run.clock_line(Rank{rank}), messages.bytes[rank], first));
  }
  schedule.notices = messages.notices;
  count_from_the_beginning(schedule, first);
  return schedule;
}

}  // namespace plait::replay::detail
