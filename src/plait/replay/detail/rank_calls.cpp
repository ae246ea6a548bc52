// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/rank_calls.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

namespace plait::replay::detail {
namespace {

using trace::CallClass;
using trace::CallEvent;

bool begins_messages(CallClass what) {
  return what == CallClass::begins_message || what == CallClass::message;
}

/// Whether operations can end in such a call.
bool ends_operations(CallClass what) {
  return what == CallClass::completes || what == CallClass::message || what == CallClass::begins_message;
}

/// The part of the recorded time from which on a notice has what the recorder took.
constexpr double reported_recording = 0.01;

double part_of(nanoseconds part, nanoseconds whole) {
  return whole > nanoseconds{} ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

/// Whether the engine that recorded, too, moved the messages of the calls.
bool carries_calls(const trace::RankTrace& trace) {
  return std::ranges::any_of(trace.engines, &trace::EngineEvent::carries_calls);
}

}  // namespace

/// When the first rank begins its range, by rank 0's clock; not before the end of MPI_Init.
nanoseconds beginning_of(const trace::RunTrace& run, std::span<const TimeRange> ranges) {
  std::optional<nanoseconds> beginning;
  for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank) {
    std::optional<nanoseconds> first;
    for (const auto& [thread, call] : run.ranks[rank].calls) {
      if (ranges[rank].contains(call.start)) {
        const nanoseconds begins = call.what == CallClass::begins_or_ends ? call.end : call.start;
        first = std::min(first.value_or(begins), begins);
      }
    }
    if (first) {
      const nanoseconds time = run.clock_line(Rank{rank}).to_rank_zero(*first);
      beginning = std::min(beginning.value_or(time), time);
    }
  }
  return beginning.value_or(nanoseconds{});
}

void report(const CallTotals& totals, std::vector<std::string>& notices) {
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) {
      notices.push_back(fmt::format("{} {}", count, what));
    }
  };
  add(totals.one_sided,
      fmt::format("one-sided calls ({} bytes) are left out: a replay does not move their data",
                  totals.one_sided_bytes));
  add(totals.tasks,
      fmt::format(
          "tasks of plait's engine, {:.0f} % of its workers' time, are left out: the calls of MPI are played, with "
          "the times between them",
          100 * part_of(totals.tasks_took, totals.of_workers)));
  add(totals.of_engine, "sides of messages of plait's engine are left out, as its tasks are");
  add(totals.carried,
      "sides of messages of plait's engine are left out: they are those of the calls, which are played");
  add(totals.without_call,
      "messages are left out: no recorded call posted them (the file is incomplete, or its clock ran backwards)");
  add(totals.of_other_threads,
      "messages were completed by a thread that did not post them, or in no recorded call; they are waited for at the "
      "end only");
  add(totals.overlapping,
      "calls begin before the previous call of their thread ends: the clock ran backwards, and computing times there "
      "are unknown");
  const double recording = part_of(totals.recording, totals.recorded);
  if (recording >= reported_recording) {
    notices.push_back(fmt::format("{:.1f} % of the recorded time are the recorder's own work: left out of computing",
                                  100 * recording));
  }
}

MatchedRun::MatchedRun(const trace::RunTrace& run, std::span<const TimeRange> ranges)
    : communicators{communicators_of(run)},
      messages{match_messages(run,
                              [&](std::uint32_t rank, std::size_t index) {
                                return ranges[rank].contains(run.ranks[rank].messages[index].event.posted);
                              })},
      collectives{match_collectives(run, communicators, [&](std::uint32_t rank, std::size_t index) {
        return ranges[rank].contains(run.ranks[rank].calls[index].event.start);
      })} {}

std::vector<std::string> MatchedRun::notices() const {
  std::vector<std::string> all = messages.notices;
  all.insert(all.end(), collectives.notices.begin(), collectives.notices.end());
  return all;
}

RankCalls::RankCalls(const trace::RankTrace& trace,
                     const trace::ClockLine& clock,
                     const MatchedRun& matched,
                     const TimeRange& range,
                     CallTotals& totals)
    : trace_{trace},
      clock_{clock},
      bytes_{matched.messages.bytes[trace.rank.value()]},
      kinds_{matched.collectives.kinds[trace.rank.value()]} {
  sort_calls(range);
  place_messages(totals);
  place_begun_collectives();
  sort_items();
}

void RankCalls::sort_calls(const TimeRange& range) {
  threads_.resize(std::max<std::size_t>(trace_.threads.size(), 1));
  for (std::size_t i = 0; i < trace_.calls.size(); ++i) {
    if (call(i).what != CallClass::begun_collective && range.contains(call(i).start)) {
      threads_[trace_.calls[i].thread].calls.push_back(i);
    }
  }
  for (ThreadCalls& thread : threads_) {
    std::ranges::stable_sort(thread.calls, {}, [&](std::size_t i) { return std::tuple{call(i).start, call(i).end}; });
  }
}

void RankCalls::place_messages(CallTotals& totals) {
  const bool is_carried = carries_calls(trace_);
  for (std::size_t i = 0; i < trace_.messages.size(); ++i) {
    if (!bytes_[i]) {
      continue;
    }
    const auto& [thread, event] = trace_.messages[i];
    if (!event.is_matched_by_order && !trace_.engines.empty()) {
      ++(is_carried ? totals.carried : totals.of_engine);
      continue;
    }
    const auto begun = find_in_any(thread, event.posted, [](const CallEvent& c) { return begins_messages(c.what); });
    if (!begun) {
      ++totals.without_call;
      continue;
    }
    threads_[begun->thread].begun.push_back({begun->call, {event.posted, event.sequence}, i});
    if (event.is_unfinished) {
      continue;  // of a send whose request was freed: waited for at the end
    }
    const auto ended = find_in_any(thread, event.completed, [](const CallEvent& c) { return ends_operations(c.what); });
    if (!ended || ended->thread != begun->thread) {
      ++totals.of_other_threads;
      continue;
    }
    threads_[ended->thread].ended.push_back({ended->call, {event.posted, event.sequence}, i});
  }
}

void RankCalls::place_begun_collectives() {
  std::map<std::uint32_t, std::size_t> by_number;
  for (std::size_t i = 0; i < trace_.calls.size(); ++i) {
    if (call(i).what == CallClass::begins_collective && kinds_[i] != Collective::none) {
      by_number.emplace(call(i).number, i);
    }
  }
  for (const auto& [thread, event] : trace_.calls) {
    const auto beginning = event.what == CallClass::begun_collective ? by_number.find(event.number) : by_number.end();
    if (beginning == by_number.end()) {
      continue;
    }
    ends_of_begun_[beginning->second] = event.end;
    const auto ended = find(thread, event.end, [](const CallEvent& c) { return c.what == CallClass::completes; });
    if (ended && thread == trace_.calls[beginning->second].thread) {
      threads_[thread].ended.push_back({ended->call, {event.start, 0}, trace_.messages.size() + beginning->second});
    }
  }
}

void RankCalls::sort_items() {
  const auto in_order = [](const CallItem& item) { return std::tuple{item.call, item.order}; };
  for (ThreadCalls& thread : threads_) {
    std::ranges::stable_sort(thread.begun, {}, in_order);
    std::ranges::stable_sort(thread.ended, {}, in_order);
  }
}

nanoseconds RankCalls::took(std::size_t call) const {
  const auto end = ends_of_begun_.find(call);
  return (end == ends_of_begun_.end() ? this->call(call).end : end->second) - this->call(call).start;
}

template <class Fits>
std::optional<RankCalls::CallPlace> RankCalls::find(std::size_t thread, nanoseconds time, const Fits& fits) const {
  const auto& calls = threads_[thread].calls;
  auto later = std::ranges::upper_bound(calls, time, {}, [&](std::size_t i) { return call(i).start; });
  // If two calls meet at this time, either may be the one.
  for (int tries = 0; tries < 2 && later != calls.begin(); ++tries) {
    --later;
    if (time <= call(*later).end && fits(call(*later))) {
      return CallPlace{thread, static_cast<std::size_t>(later - calls.begin())};
    }
  }
  return std::nullopt;
}

template <class Fits>
std::optional<RankCalls::CallPlace> RankCalls::find_in_any(std::size_t thread,
                                                           nanoseconds time,
                                                           const Fits& fits) const {
  if (const auto found = find(thread, time, fits)) {
    return found;
  }
  for (std::size_t other = 0; other < threads_.size(); ++other) {
    if (other != thread) {
      if (const auto found = find(other, time, fits)) {
        return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace plait::replay::detail
