// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/polling.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace plait::replay::detail {
namespace {

/// Shorter series of polls are in any loop.
constexpr std::int64_t long_series = 16;
constexpr double part_of_work = 0.25;

using PollingPlace = std::pair<trace::NameId, trace::NameId>;

PollingPlace polling_place(const trace::CallEvent& call) {
  return {call.function, call.site};
}

/// How long series of polls at a place took.
struct PollingTimes {
  nanoseconds all{};
  nanoseconds left{};  ///< Of those after which the program went on without having found anything.
  [[nodiscard]] bool is_work() const noexcept {
    return static_cast<double>(left.count()) >= part_of_work * static_cast<double>(all.count()) && all > nanoseconds{};
  }
};

/// Polls one after the other: the calls from `first` until before `end`.
struct PollSeries {
  std::size_t first = 0;
  std::size_t end = 0;
};

bool polls_at_once(const trace::CallEvent& call, const trace::CallEvent& next) {
  return next.start - call.end <= polling_gap_max;
}

std::vector<PollSeries> poll_series(std::span<const trace::CallEvent* const> calls) {
  std::vector<PollSeries> found;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!is_poll(*calls[i])) {
      continue;
    }
    const bool goes_on = !found.empty() && found.back().end == i && polls_at_once(*calls[i - 1], *calls[i]);
    if (!goes_on) {
      found.push_back({i, i});
    }
    found.back().end = i + 1;
  }
  return found;
}

/// Adds a series to the times of the places that poll in it.
void add_series(std::span<const trace::CallEvent* const> calls,
                const PollSeries& series,
                std::map<PollingPlace, PollingTimes>& times) {
  std::int64_t polls = 0;
  std::set<PollingPlace> places;
  for (const trace::CallEvent* call : calls.subspan(series.first, series.end - series.first)) {
    polls += poll_count(*call);
    places.insert(polling_place(*call));
  }
  if (polls < long_series) {
    return;
  }
  const trace::CallEvent& last = *calls[series.end - 1];
  const trace::CallEvent* const next = series.end < calls.size() ? calls[series.end] : nullptr;
  const bool has_found = next != nullptr && next->what == trace::CallClass::completes && polls_at_once(last, *next) &&
                         places.contains(polling_place(*next));
  const nanoseconds took = last.end - calls[series.first]->start;
  for (const PollingPlace& place : places) {
    times[place].all += took;
    times[place].left += has_found ? nanoseconds{} : took;
  }
}

}  // namespace

std::vector<bool> tests_of_work(std::span<const trace::CallEvent* const> calls) {
  std::map<PollingPlace, PollingTimes> times;
  for (const PollSeries& series : poll_series(calls)) {
    add_series(calls, series, times);
  }
  std::vector<bool> found(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i]->what == trace::CallClass::completes) {
      const auto known = times.find(polling_place(*calls[i]));
      found[i] = known != times.end() && known->second.is_work();
    }
  }
  return found;
}

}  // namespace plait::replay::detail
