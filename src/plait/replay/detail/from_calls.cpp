// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/from_calls.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/replay/detail/collective_calls.hpp"
#include "plait/replay/detail/matched_messages.hpp"
#include "plait/replay/detail/places.hpp"
#include "plait/replay/detail/polling.hpp"
#include "plait/replay/detail/stream_builder.hpp"

namespace plait::replay::detail {
namespace {

using trace::CallClass;
using trace::CallEvent;

/// The part of the recorded time from which on a notice has what the recorder took.
constexpr double reported_recording = 0.01;

bool begins_messages(CallClass what) {
  return what == CallClass::begins_message || what == CallClass::message;
}

/// Whether operations can end in such a call.
bool ends_operations(CallClass what) {
  return what == CallClass::completes || what == CallClass::message || what == CallClass::begins_message;
}

/// A message or non-blocking collective that a call starts or completes. `order`: of posting within the call.
struct Item {
  std::size_t call = 0;  ///< Index into the thread's calls.
  std::pair<nanoseconds, std::uint32_t> order;
  std::size_t item = 0;  ///< Index into the rank's messages, followed by its calls.
};

/// What one thread of a rank did.
struct Thread {
  std::vector<std::size_t> calls;  ///< Indices into `RankTrace::calls`, in the order of their starts.
  std::vector<Item> begun;
  std::vector<Item> ended;
};

/// A call of a thread.
struct CallPlace {
  std::size_t thread = 0;
  std::size_t call = 0;
};

/// Leaves what a loop that works has found to the next wait: it would have gone on without.
void defer(bool is_work, std::vector<std::uint32_t>& found, std::vector<std::uint32_t>& deferred) {
  if (is_work || !found.empty()) {
    std::vector<std::uint32_t>& from = is_work ? found : deferred;
    std::vector<std::uint32_t>& to = is_work ? deferred : found;
    to.insert(to.end(), from.begin(), from.end());
    from.clear();
  }
}

struct Totals {
  std::size_t one_sided = 0;
  std::uint64_t one_sided_bytes = 0;
  std::size_t of_engine = 0;
  std::size_t tasks = 0;  ///< Of the engine.
  std::size_t carried = 0;
  std::size_t without_call = 0;
  std::size_t of_other_threads = 0;
  std::size_t overlapping = 0;
  nanoseconds recording{};  ///< Time of the recorder that is left out, of all threads.
  nanoseconds recorded{};   ///< Time of all threads.
};

/// The time of a thread outside the library, which becomes computing: without that of the recorder.
class OutsideTime {
 public:
  OutsideTime(StreamBuilder& builder, nanoseconds beginning, std::uint32_t step)
      : builder_{builder}, since_{beginning}, step_{step} {}

  /// A call has ended, or its time counts from its start on. Times never decrease.
  void begin(nanoseconds time) { since_ = std::max(since_, time); }
  /// What recording has taken since `begin`, or takes before `end`.
  void leave_out(nanoseconds time) { recording_ += time; }
  /// A call starts: adds the computing until now.
  void end(nanoseconds time) {
    const nanoseconds all = std::max(nanoseconds{}, time - since_);
    const nanoseconds recording = std::min(all, std::exchange(recording_, {}));
    left_out_ += recording;
    builder_.compute(since_, all - recording, step_);
  }
  /// A call starts, and the time until now is not computing.
  void forget() { recording_ = {}; }

  [[nodiscard]] nanoseconds since() const noexcept { return since_; }
  [[nodiscard]] nanoseconds left_out() const noexcept { return left_out_; }

 private:
  StreamBuilder& builder_;
  nanoseconds since_;
  nanoseconds recording_{};
  nanoseconds left_out_{};
  std::uint32_t step_;
};

/// Turns the calls of one rank into its streams.
class RankReader {
 public:
  RankReader(const trace::RankTrace& trace,
             const trace::ClockLine& clock,
             std::uint32_t step,
             const std::vector<std::optional<std::uint64_t>>& bytes,
             const std::vector<Collective>& kinds)
      : trace_{trace}, clock_{clock}, step_{step}, bytes_{bytes}, kinds_{kinds} {
    if (!trace.recorder_costs.empty()) {
      costs_ = trace.recorder_costs.front();
    }
  }

  [[nodiscard]] RankSchedule read(const TimeRange& range, nanoseconds beginning, Totals& totals) {
    sort_calls(range);
    count_tasks(range, totals);
    place_messages(totals);
    place_begun_collectives();
    RankSchedule schedule;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      Thread& thread = threads_[i];
      if (thread.calls.empty()) {
        continue;
      }
      const auto in_order = [](const Item& item) { return std::tuple{item.call, item.order}; };
      std::ranges::stable_sort(thread.begun, {}, in_order);
      std::ranges::stable_sort(thread.ended, {}, in_order);
      Stream& stream = schedule.streams.emplace_back();
      stream.name = i < trace_.threads.size() ? trace_.threads[i].name : std::string{};
      read_thread(thread, stream, beginning, totals);
    }
    return schedule;
  }

 private:
  void sort_calls(const TimeRange& range) {
    threads_.resize(std::max<std::size_t>(trace_.threads.size(), 1));
    for (std::size_t i = 0; i < trace_.calls.size(); ++i) {
      if (call(i).what != CallClass::begun_collective && range.contains(call(i).start)) {
        threads_[trace_.calls[i].thread].calls.push_back(i);
      }
    }
    for (Thread& thread : threads_) {
      std::ranges::stable_sort(thread.calls, {}, [&](std::size_t i) { return std::tuple{call(i).start, call(i).end}; });
    }
  }

  void count_tasks(const TimeRange& range, Totals& totals) const {
    totals.tasks += static_cast<std::size_t>(std::ranges::count_if(trace_.tasks, [&](const auto& task) {
      return task.event.role == trace::TaskRole::compute && range.contains(task.event.start);
    }));
  }
  /// Whether the engine that recorded, too, moved the messages of the calls.
  [[nodiscard]] bool carries_calls() const {
    return std::ranges::any_of(trace_.engines, &trace::EngineEvent::carries_calls);
  }

  void place_messages(Totals& totals) {
    const bool is_carried = carries_calls();
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
      const auto ended =
          find_in_any(thread, event.completed, [](const CallEvent& c) { return ends_operations(c.what); });
      if (!ended || ended->thread != begun->thread) {
        ++totals.of_other_threads;
        continue;
      }
      threads_[ended->thread].ended.push_back({ended->call, {event.posted, event.sequence}, i});
    }
  }

  void place_begun_collectives() {
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

  template <class Fits>
  [[nodiscard]] std::optional<CallPlace> find(std::size_t thread, nanoseconds time, const Fits& fits) const {
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
  [[nodiscard]] std::optional<CallPlace> find_in_any(std::size_t thread, nanoseconds time, const Fits& fits) const {
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

  void read_thread(const Thread& thread, Stream& stream, nanoseconds beginning, Totals& totals) {
    StreamBuilder builder{stream};
    std::map<std::size_t, std::uint32_t> operations;  // by item
    OutsideTime outside{builder, beginning, step_};
    const std::vector<bool> is_work = tests_of_work(events_of(thread));
    bool found_nothing = false;
    auto begun = thread.begun.begin();
    auto ended = thread.ended.begin();
    std::vector<std::uint32_t> to_wait_for;
    std::vector<std::uint32_t> found_at_work;
    for (std::size_t i = 0; i < thread.calls.size(); ++i) {
      const std::size_t index = thread.calls[i];
      const CallEvent& event = call(index);
      const nanoseconds start = at(event.start);
      const nanoseconds end = at(event.end);
      totals.overlapping += start < outside.since() && i > 0 && event.what != CallClass::begins_or_ends ? 1 : 0;
      if (event.what == CallClass::begins_or_ends) {
        if (!stream.operations.empty()) {
          outside.end(start);
          builder.poll(start, step_);
        }
        outside.begin(end);
        continue;
      }
      const bool is_polling = found_nothing && event.what == CallClass::completes && !is_work[i] &&
                              start - outside.since() <= polling_gap_max;
      if (is_polling) {
        outside.forget();
      } else {
        outside.end(start);
      }
      to_wait_for.clear();
      for (; begun != thread.begun.end() && begun->call == i; ++begun) {
        outside.leave_out(event.what == CallClass::message ? costs_.message : costs_.request / 2);
        operations[begun->item] = builder.begin(message(begun->item));
      }
      begin_collective(index, stream, builder, operations, to_wait_for);
      for (; ended != thread.ended.end() && ended->call == i; ++ended) {
        outside.leave_out(event.what == CallClass::message ? nanoseconds{} : costs_.request / 2);
        if (const auto found = operations.find(ended->item); found != operations.end()) {
          to_wait_for.push_back(found->second);
          operations.erase(found);
        }
      }
      found_nothing = event.what == CallClass::completes && to_wait_for.empty() && !is_work[i];
      defer(is_work[i], to_wait_for, found_at_work);
      if (!to_wait_for.empty()) {
        builder.wait(to_wait_for, start, end - start, step_);
      } else if (!(is_polling && !stream.operations.empty() && stream.operations.back().action == Action::poll) &&
                 event.what != CallClass::begins_message && event.what != CallClass::begins_collective) {
        builder.poll(start, step_);
      }
      outside.leave_out(recording_of(event, is_work[i]));
      outside.begin(is_work[i] || is_own_time(index) ? start : end);
      count_one_sided(index, totals);
    }
    builder.wait_for_the_rest(outside.since(), step_);
    totals.recording += outside.left_out();
    totals.recorded += outside.since() - beginning;
  }

  [[nodiscard]] std::vector<const CallEvent*> events_of(const Thread& thread) const {
    std::vector<const CallEvent*> events;
    events.reserve(thread.calls.size());
    std::ranges::transform(thread.calls, std::back_inserter(events), [&](std::size_t i) { return &call(i); });
    return events;
  }

  /// Starts the collective that a call is, if it is one. If the call waits for it, adds it to `to_wait_for`.
  void begin_collective(std::size_t index,
                        Stream& stream,
                        StreamBuilder& builder,
                        std::map<std::size_t, std::uint32_t>& operations,
                        std::vector<std::uint32_t>& to_wait_for) const {
    if (kinds_[index] == Collective::none) {
      return;
    }
    const std::uint32_t number = builder.begin(collective(index, stream));
    if (call(index).what == CallClass::begins_collective) {
      operations[trace_.messages.size() + index] = number;
    } else {
      to_wait_for.push_back(number);
    }
  }

  /// What recording takes of the time that counts as computing: with that of the call itself, or without.
  [[nodiscard]] nanoseconds recording_of(const CallEvent& event, bool has_own_time) const {
    if (has_own_time && is_poll(event)) {
      return poll_count(event) * costs_.poll;
    }
    return has_own_time ? costs_.call : costs_.call - costs_.inside;
  }

  /// Whether the time in a call is the program's as computing is.
  [[nodiscard]] bool is_own_time(std::size_t index) const {
    const CallClass what = call(index).what;
    return (what == CallClass::file || what == CallClass::sets_up || what == CallClass::other) &&
           kinds_[index] == Collective::none;
  }

  void count_one_sided(std::size_t index, Totals& totals) const {
    const CallEvent& event = call(index);
    if (event.what == CallClass::one_sided && kinds_[index] == Collective::none) {
      ++totals.one_sided;
      totals.one_sided_bytes += event.bytes_given + event.bytes_got;
    }
  }

  [[nodiscard]] Operation message(std::size_t item) const {
    const trace::MessageEvent& event = trace_.messages[item].event;
    return operation_of(event, bytes_[item].value_or(0), step_, at(event.posted));
  }

  [[nodiscard]] Operation collective(std::size_t index, Stream& stream) const {
    const CallEvent& event = call(index);
    Operation operation{.action = Action::collective,
                        .collective = kinds_[index],
                        .step = step_,
                        .communicator = event.communicator,
                        .peer = event.peer,
                        .bytes = event.bytes_given,
                        .bytes_got = event.bytes_got,
                        .at = at(event.start),
                        .took = event.end - event.start};
    if (const auto end = ends_of_begun_.find(index); end != ends_of_begun_.end()) {
      operation.took = end->second - event.start;
    }
    if (const auto shares = trace_.shares.find(event.number); shares != trace_.shares.end()) {
      operation.first = static_cast<std::uint32_t>(stream.shares.size());
      operation.count = static_cast<std::uint32_t>(shares->second.size());
      stream.shares.insert(stream.shares.end(), shares->second.begin(), shares->second.end());
    }
    return operation;
  }

  [[nodiscard]] nanoseconds at(nanoseconds time) const { return clock_.to_rank_zero(time); }
  [[nodiscard]] const CallEvent& call(std::size_t index) const { return trace_.calls[index].event; }

  const trace::RankTrace& trace_;
  const trace::ClockLine& clock_;
  std::uint32_t step_;
  trace::RecorderCostsEvent costs_;  ///< 0 in runs of older versions.
  const std::vector<std::optional<std::uint64_t>>& bytes_;
  const std::vector<Collective>& kinds_;
  std::vector<Thread> threads_;
  std::map<std::size_t, nanoseconds> ends_of_begun_;  ///< By index of the call that started a collective.
};

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

double part_of(nanoseconds part, nanoseconds whole) {
  return whole > nanoseconds{} ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

void report(const Totals& totals, std::vector<std::string>& notices) {
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) {
      notices.push_back(fmt::format("{} {}", count, what));
    }
  };
  add(totals.one_sided,
      fmt::format("one-sided calls ({} bytes) are left out: a replay does not move their data",
                  totals.one_sided_bytes));
  add(totals.tasks,
      "tasks of plait's engine are left out: of this run, calls of MPI are played, with the times between them");
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
  Schedule schedule;
  schedule.communicators = communicators_of(run);
  const auto messages = match_messages(run, [&](std::uint32_t rank, std::size_t index) {
    return ranges[rank].contains(run.ranks[rank].messages[index].event.posted);
  });
  const auto collectives = match_collectives(run, schedule.communicators, [&](std::uint32_t rank, std::size_t index) {
    return ranges[rank].contains(run.ranks[rank].calls[index].event.start);
  });
  const nanoseconds beginning = beginning_of(run, ranges);
  Totals totals;
  for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank) {
    const trace::ClockLine clock = run.clock_line(Rank{rank});
    RankReader reader{run.ranks[rank], clock, step, messages.bytes[rank], collectives.kinds[rank]};
    schedule.ranks.push_back(reader.read(ranges[rank], beginning, totals));
  }
  schedule.notices = messages.notices;
  schedule.notices.insert(schedule.notices.end(), collectives.notices.begin(), collectives.notices.end());
  report(totals, schedule.notices);
  count_from_the_beginning(schedule, beginning);
  return schedule;
}

}  // namespace plait::replay::detail
