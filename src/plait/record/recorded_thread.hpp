// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/base/clock.hpp"
#include "plait/record/call_paths.hpp"
#include "plait/record/communicators.hpp"
#include "plait/record/profile.hpp"
#include "plait/record/region_counters.hpp"
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
      if (!counter_kinds.empty() && counters == nullptr) {
        counters = std::make_unique<RegionCounters>(counter_kinds, trace);
      }
      if (counters != nullptr) {
        counters->begin();
      }
    } catch (const std::exception&) {
      regions.clear();  // the ends of these are ignored
      counters.reset();
      counter_kinds = {};
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
        counters->end(regions.back(), recorder);
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
  std::span<const CounterKind> counter_kinds;  ///< To count in regions.
  std::unique_ptr<RegionCounters> counters;    ///< Of the thread that has it now; opened by its first region.
  // The communicator used last, and the epoch in which it was found.
  std::uint64_t communicator_handle = 0;
  std::uint32_t communicator_epoch = 0;
  Communicator* communicator = nullptr;
  // Of the current wait or test.
  std::vector<std::uint64_t> handles;
  std::vector<MPI_Status> statuses;
};

/// The threads of the program that have called MPI, and what they count. Threads: any.
class RecordedThreads {
 public:
  /// `profile`: null if all events are recorded.
  explicit RecordedThreads(std::unique_ptr<Profile> profile) : profile_{std::move(profile)} {}

  /// Returns one for a new thread: that of an ended thread, if there is one.
  [[nodiscard]] RecordedThread& take(trace::Recorder& recorder) {
    auto call_paths = call_path_depth_ > 1 ? std::make_unique<CallPaths>(call_path_depth_) : nullptr;
    const std::lock_guard lock{mutex_};
    if (spare_.empty()) {
      spare_.push_back(&append(recorder, threads_.empty() ? "main" : fmt::format("thread {}", threads_.size())));
    }
    RecordedThread* const thread = spare_.back();
    spare_.pop_back();
    const pid_t number = ::gettid();
    thread->used = {
        .worker = thread->recorder.worker(), .thread = number, .start = recorder.now(), .at_start = usage_of(number)};
    thread->call_paths = std::move(call_paths);
    thread->counters.reset();
    thread->counter_kinds = counter_kinds_;
    return *thread;
  }
  /// Returns one for a thread that is to come.
  [[nodiscard]] RecordedThread& add(trace::Recorder& recorder, const std::string& name) {
    const std::lock_guard lock{mutex_};
    return append(recorder, name);
  }
  /// Lets all threads count in their regions. Before the program has regions, at most once.
  void count(std::vector<CounterKind> kinds) {
    const std::lock_guard lock{mutex_};
    counter_kinds_ = std::move(kinds);
    for (const auto& one : threads_) {
      one->counter_kinds = counter_kinds_;
    }
  }
  /// Records what the kernel counted for the threads that have not ended, with the thread recorder of the caller. Does
  /// nothing when memory is lacking.
  void write_usage(trace::Recorder& recorder, trace::ThreadRecorder& records) const noexcept {
    const std::lock_guard lock{mutex_};
    try {
      for (const auto& one : threads_) {
        if (one->used.thread != 0) {
          record_usage(one->used, recorder, records);
        }
      }
    } catch (const std::exception&) {
      // The rest of the recording is as good without.
    }
  }
  /// Returns the number of a thread of the kernel; the largest number if it has not called MPI.
  [[nodiscard]] std::uint16_t worker_of(pid_t thread) const {
    const std::lock_guard lock{mutex_};
    const auto known = std::ranges::find(threads_, thread, [](const auto& one) { return one->used.thread; });
    return known != threads_.end() ? (*known)->recorder.worker() : std::numeric_limits<std::uint16_t>::max();
  }
  /// Returns that of an ended thread.
  void give_back(RecordedThread& thread, trace::Recorder& recorder) noexcept {
    const std::lock_guard lock{mutex_};
    try {
      record_usage(thread.used, recorder, thread.recorder);
    } catch (const std::exception&) {
      // The rest of the recording is as good without.
    }
    thread.write_polls();
    thread.used.thread = 0;
    spare_.push_back(&thread);
  }

 private:
  RecordedThread& append(trace::Recorder& recorder, const std::string& name) {
    const WorkerId number{static_cast<std::uint16_t>(threads_.size())};
    return *threads_.emplace_back(std::make_unique<RecordedThread>(recorder.thread(number, name), profile_.get()));
  }

  std::unique_ptr<Profile> profile_;
  std::vector<CounterKind> counter_kinds_;
  const std::size_t call_path_depth_ = call_path_wanted();
  mutable std::mutex mutex_;  ///< Guards all below.
  std::vector<std::unique_ptr<RecordedThread>> threads_;
  std::vector<RecordedThread*> spare_;
};

}  // namespace plait::record
