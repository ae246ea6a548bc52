// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <mpi.h>

#include "plait/base/clock.hpp"
#include "plait/record/communicators.hpp"
#include "plait/record/sites.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// What one thread of the program needs to record its calls. Threads: its own.
struct RecordedThread {
  explicit RecordedThread(trace::ThreadRecorder& own) : recorder{own} {}

  /// A call is over. Polls that find nothing, one right after the other, become one record: a program that spins would
  /// fill the disk.
  void record(const trace::CallEvent& call) noexcept {
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
  void write_polls() noexcept {
    if (std::exchange(has_polls, false)) {
      recorder.call(polls);
    }
  }
  /// A thread that computes for longer between two polls is not spinning.
  static constexpr nanoseconds poll_gap_max{500};
  /// As much may be lost when the process is killed.
  static constexpr nanoseconds polls_length_max{100'000};

  trace::ThreadRecorder& recorder;
  trace::CallEvent polls;  ///< Not written yet.
  bool has_polls = false;
  SiteCache sites;
  // The communicator used last, and when that was found.
  std::uint64_t communicator_handle = 0;
  std::uint32_t communicator_epoch = 0;
  Communicator* communicator = nullptr;
  // Of the wait or test that goes on.
  std::vector<std::uint64_t> handles;
  std::vector<MPI_Status> statuses;
};

/// The threads of the program that have called MPI. Threads: any.
class RecordedThreads {
 public:
  /// One for a thread that calls for the first time: that of a thread that has ended, if there is one, so that there
  /// are not more than threads at a time.
  [[nodiscard]] RecordedThread& take(trace::Recorder& recorder);
  /// Its thread has ended.
  void give_back(RecordedThread& thread) noexcept;

 private:
  std::mutex mutex_;  ///< Guards all below.
  std::vector<std::unique_ptr<RecordedThread>> threads_;
  std::vector<RecordedThread*> spare_;
};

}  // namespace plait::record
