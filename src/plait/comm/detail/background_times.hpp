// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/base/clock.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::comm::detail {

/// Records what a thread that polls in the background takes of the processor. Threads: that one.
class BackgroundTimes {
 public:
  /// Borrows the recorder; null, or one that is off, records nothing.
  explicit BackgroundTimes(trace::Recorder* recorder)
      : recorder_{recorder},
        trace_{recorder != nullptr && recorder->is_on() ? &recorder->thread(WorkerId{}, "background") : nullptr} {
    restart();
  }
  BackgroundTimes(const BackgroundTimes&) = delete;
  BackgroundTimes& operator=(const BackgroundTimes&) = delete;
  ~BackgroundTimes() { write(last_); }

  /// The thread has polled. Cost: a reading of the clock, and a record every millisecond.
  void note() noexcept {
    if (trace_ != nullptr) {
      last_ = recorder_->now();
      if (last_ - start_ >= length_min) {
        write(last_);
      }
    }
  }

  /// The thread has slept for long: what comes now is another time.
  void restart() noexcept {
    if (trace_ != nullptr) {
      write(last_);
      start_ = last_ = recorder_->now();
      used_before_ = thread_processor_time();
    }
  }

 private:
  static constexpr std::chrono::milliseconds length_min{1};

  void write(nanoseconds end) noexcept {
    if (trace_ != nullptr && end > start_) {
      const nanoseconds used = thread_processor_time();
      trace_->background_time({.start = start_, .end = end, .took = used - used_before_});
      start_ = end;
      used_before_ = used;
    }
  }

  trace::Recorder* recorder_;
  trace::ThreadRecorder* trace_;
  nanoseconds start_{};
  nanoseconds last_{};
  nanoseconds used_before_{};
};

}  // namespace plait::comm::detail
