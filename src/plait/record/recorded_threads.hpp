// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/record/recorded_thread.hpp"

namespace plait::record {

/// The threads of the program that have called MPI, and what they count. Threads: any.
class RecordedThreads {
 public:
  /// `profile`: null if all events are recorded.
  explicit RecordedThreads(std::unique_ptr<Profile> profile) : profile_{std::move(profile)} {}

  /// Returns one for a new thread: that of an ended thread, if there is one.
  [[nodiscard]] RecordedThread& take(trace::Recorder& recorder) {
    const std::lock_guard lock{mutex_};
    if (spare_.empty()) {
      spare_.push_back(&append(recorder, threads_.empty() ? "main" : fmt::format("thread {}", threads_.size())));
    }
    RecordedThread& thread = *spare_.back();
    spare_.pop_back();
    take_over(thread, recorder);
    return thread;
  }
  /// The calling thread is now the one that `thread`, from `add`, was made for.
  void occupy(RecordedThread& thread, trace::Recorder& recorder) {
    const std::lock_guard lock{mutex_};
    take_over(thread, recorder);
  }
  /// Returns one for a thread that is to come.
  [[nodiscard]] RecordedThread& add(trace::Recorder& recorder, const std::string& name) {
    const std::lock_guard lock{mutex_};
    return append(recorder, name);
  }
  /// Lets all threads count in their regions and tasks. Before the program has regions, at most once.
  void count(std::vector<CounterKind> kinds) {
    const std::lock_guard lock{mutex_};
    counter_kinds_ = std::move(kinds);
    for (const auto& one : threads_) {
      one->counter_kinds = counter_kinds_;
    }
  }
  [[nodiscard]] bool is_counting() const noexcept { return !counter_kinds_.empty(); }
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
  void take_over(RecordedThread& thread, trace::Recorder& recorder) {
    const pid_t number = ::gettid();
    thread.call_paths = call_path_depth_ > 1 ? std::make_unique<CallPaths>(call_path_depth_) : nullptr;
    thread.counters.reset();
    thread.counter_kinds = counter_kinds_;
    thread.used = {
        .worker = thread.recorder.worker(), .thread = number, .start = recorder.now(), .at_start = usage_of(number)};
  }
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
