// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <mpi.h>

#include "plait/base/clock.hpp"
#include "plait/record/call_paths.hpp"
#include "plait/record/communicators.hpp"
#include "plait/record/nested_counters.hpp"
#include "plait/record/profile.hpp"
#include "plait/record/sites.hpp"
#include "plait/record/thread_usage.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// The state of one thread of the program for recording its calls. Threads: its own.
struct RecordedThread {
  /// `profile`: null if all events are recorded.
  RecordedThread(trace::ThreadRecorder& own, Profile* of_rank) : recorder{own}, profile{of_rank} {}

  /// Records a call. Successive polls that find nothing become one record, as a spinning program would fill the disk.
  void record(const trace::CallEvent& call) noexcept {
    if (profile != nullptr) {
      profile->add_call(recorder.worker(), call);
      if (!keeps(call.start, call.end) && call.what != trace::CallClass::begins_or_ends) {
        return;
      }
    }
    const bool is_poll = call.what == trace::CallClass::completes && call.count == 0;
    if (has_polls) {
      if (is_poll && call.function == polls.function && call.site == polls.site &&
          call.start - polls.end < poll_gap_max && call.end - polls.start < polls_length_max) {
        polls.end = call.end;
        ++polls.repeats;
        return;
      }
      write_polls();
    }
    if (is_poll) {
      polls = call;
      has_polls = true;
    } else {
      recorder.call(call);
    }
  }
  /// Records a non-blocking collective as a whole.
  void record_whole(const trace::CallEvent& collective) noexcept {
    if (profile != nullptr) {
      profile->add_call(recorder.worker(), collective);
    }
    if (keeps(collective.start, collective.end)) {
      recorder.call(collective);
    }
  }
  /// Records a message that the call `posting` has posted.
  void record(const trace::MessageEvent& message, const trace::CallEvent& posting) noexcept {
    if (profile != nullptr && !message.is_unfinished) {
      profile->add_message(recorder.worker(), message, posting);
    }
    if (message.is_unfinished || keeps(message.posted, message.posted)) {
      recorder.message(message);
    }
  }
  /// Whether events of this time are recorded one by one.
  [[nodiscard]] bool keeps(nanoseconds start, nanoseconds end) noexcept {
    return profile == nullptr || (windows() != nullptr && windows()->overlaps(start, end, recorder));
  }
  [[nodiscard]] trace::Windows* windows() noexcept { return profile != nullptr ? profile->windows() : nullptr; }
  void write_polls() noexcept {
    if (std::exchange(has_polls, false)) {
      recorder.call(polls);
    }
  }
  /// Begins a region, in those that have begun. Does nothing when memory is lacking.
  void begin_region(trace::Recorder& trace, const char* name, nanoseconds now) noexcept {
    try {
      regions.push_back({.name = trace.name(trace::Role::span, name), .start = now});
      if (windows() != nullptr) {
        windows()->region_begins(regions.back().name, now, recorder);
      }
      begin_counting(trace);
    } catch (const std::exception&) {
      regions.clear();  // the ends of these are ignored
      count_no_more();
    }
  }
  /// A task of plait's runtime starts on this thread. Does nothing when memory is lacking.
  void begin_task(trace::Recorder& trace) noexcept {
    try {
      begin_counting(trace);
    } catch (const std::exception&) {
      count_no_more();
    }
  }
  /// Records what was counted in the task that started last.
  void end_task(const trace::CountEvent& task) noexcept {
    if (counters != nullptr) {
      counters->end(task, recorder);
    }
  }
  /// Records the region that has begun last, if there is one: it may have begun before the recording.
  void end_region(nanoseconds now) noexcept {
    if (!regions.empty()) {
      regions.back().end = now;
      if (keeps(regions.back().start, now)) {
        recorder.span(regions.back());
      }
      if (windows() != nullptr) {
        windows()->region_ends(regions.back().name, now, recorder);
      }
      if (counters != nullptr) {
        counters->end({.region = regions.back().name, .start = regions.back().start, .end = now}, recorder);
      }
      regions.pop_back();
    }
  }
  /// Ends all regions, at the end of the thread or of the recording, and records that they had not ended.
  void end_regions(nanoseconds now) noexcept {
    while (!regions.empty()) {
      recorder.open_region({.name = regions.back().name, .start = regions.back().start, .end = now});
      end_region(now);
    }
  }
  /// Ends the regions down to the last of a name, if there is one.
  void end_region_named(trace::NameId name, nanoseconds now) noexcept {
    if (std::ranges::find(regions, name, &trace::SpanEvent::name) == regions.end()) {
      return;
    }
    while (regions.back().name != name) {
      end_region(now);
    }
    end_region(now);
  }

  /// A longer time between two polls means that the thread computes.
  static constexpr nanoseconds poll_gap_max{500};
  /// The longest record of polls, which is lost if the process is killed.
  static constexpr nanoseconds polls_length_max{100'000};

  trace::ThreadRecorder& recorder;
  Profile* profile;
  UsedThread used;         ///< `RecordedThreads` guards it.
  trace::CallEvent polls;  ///< Not written yet.
  bool has_polls = false;
  SiteCache sites;
  /// Of the thread that has it now; null if paths are not recorded.
  std::unique_ptr<CallPaths> call_paths;
  std::vector<trace::SpanEvent> regions;       ///< That have begun.
  std::span<const CounterKind> counter_kinds;  ///< To count in regions and tasks.
  std::unique_ptr<NestedCounters> counters;    ///< Of the thread that has it now; opened by its first region or task.
  // The communicator used last, and the epoch in which it was found.
  std::uint64_t communicator_handle = 0;
  std::uint32_t communicator_epoch = 0;
  Communicator* communicator = nullptr;
  // Of the current wait or test.
  std::vector<std::uint64_t> handles;
  std::vector<MPI_Status> statuses;

 private:
  void begin_counting(trace::Recorder& trace) {
    if (!counter_kinds.empty() && counters == nullptr) {
      counters = std::make_unique<NestedCounters>(counter_kinds, trace);
    }
    if (counters != nullptr) {
      counters->begin();
    }
  }
  void count_no_more() noexcept {
    counters.reset();
    counter_kinds = {};
  }
};

}  // namespace plait::record
