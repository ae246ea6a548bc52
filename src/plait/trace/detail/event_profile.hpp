// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "plait/trace/event.hpp"
#include "plait/trace/preloaded_recorder.hpp"
#include "plait/trace/profile_options.hpp"
#include "plait/trace/sum_table.hpp"
#include "plait/trace/window.hpp"

namespace plait::trace::detail {

/// Counts what plait's runtime does, in bounded memory, and decides which events are recorded one by one, too.
///
/// Threads: any.
class EventProfile {
 public:
  /// Borrows the recorder.
  EventProfile(Recorder& recorder, const ProfileOptions& options);
  /// With the windows of the preloaded recorder, whose files `recorder` has joined. Borrows both.
  EventProfile(Recorder& recorder, const PreloadedRecorder& host) : sums_{recorder, SumsOf::engine}, host_{&host} {}

  /// Counts the event, if its kind is counted. Returns whether it is to be recorded.
  [[nodiscard]] bool keeps(const TaskEvent& event, ThreadRecorder& recorder) noexcept;
  [[nodiscard]] bool keeps(const MessageEvent& event, ThreadRecorder& recorder) noexcept;
  [[nodiscard]] bool keeps(const SpanEvent& event, ThreadRecorder& recorder) noexcept;
  [[nodiscard]] bool keeps(const PollGapEvent& event, ThreadRecorder& recorder) noexcept;
  [[nodiscard]] bool keeps(const CounterEvent& event, ThreadRecorder& recorder) noexcept {
    return is_in_window(event.time, event.time, recorder);
  }
  [[nodiscard]] bool keeps(const GraphRunEvent& event, ThreadRecorder& recorder) noexcept {
    return is_in_window(event.start, event.start, recorder);
  }
  [[nodiscard]] bool keeps(const FlowTaskEvent& event, ThreadRecorder& recorder) noexcept {
    return is_in_window(event.submitted, event.submitted, recorder);
  }
  /// Graphs are recorded at their first run, and only if there may be a window that needs them.
  [[nodiscard]] bool keeps(const GraphTaskEvent& /*event*/, ThreadRecorder& /*recorder*/) const noexcept {
    return has_windows();
  }
  [[nodiscard]] bool keeps(const GraphClaimsEvent& /*event*/, ThreadRecorder& /*recorder*/) const noexcept {
    return has_windows();
  }
  /// Aligns the windows of all ranks.
  [[nodiscard]] bool keeps(const ClockEvent& event, ThreadRecorder& recorder) noexcept;
  /// Others are few: they are recorded.
  template <class Event>
  [[nodiscard]] bool keeps(const Event& /*event*/, ThreadRecorder& /*recorder*/) const noexcept {
    return true;
  }

  /// A region begins, and may open a window. Its end is its `SpanEvent`.
  void region_begins(NameId region, nanoseconds now, ThreadRecorder& recorder) noexcept;

 private:
  [[nodiscard]] bool has_windows() const noexcept;
  [[nodiscard]] bool is_in_window(nanoseconds start, nanoseconds end, ThreadRecorder& recorder) noexcept;

  SumTables sums_;
  std::unique_ptr<Windows> windows_;         ///< Null if there are none, or if the host has them.
  const PreloadedRecorder* host_ = nullptr;  ///< Null if this recorder has its own file.
};

}  // namespace plait::trace::detail
