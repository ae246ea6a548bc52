// SPDX-License-Identifier: Apache-2.0
// Made from schema.toml by tools/make_trace_code.py: edit that.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "plait/trace/event.hpp"
#include "plait/trace/record_writer.hpp"

namespace plait::trace {

namespace detail {
class EventProfile;
}

/// Records the events of one thread: about 20 ns each; when tracing is off, one predictable branch.
///
/// Owned by its `Recorder`. The worker of an event is this recorder's. An event is in the file when the
/// call returns, also if the process is killed then. Of a profile, events are counted, and recorded in
/// windows only. Threads: one at a time.
class ThreadRecorder final : public RecordWriter {
 public:
  /// As `RecordWriter`. Borrows the profile; null: all events are recorded.
  ThreadRecorder(ChunkSource* chunks,
                 std::uint16_t worker,
                 std::string thread_name,
                 detail::EventProfile* profile = nullptr) noexcept
      : RecordWriter{chunks, worker, std::move(thread_name)}, profile_{profile} {}

  void task(const TaskEvent& event) noexcept { record(event); }
  void message(const MessageEvent& event) noexcept { record(event); }
  void span(const SpanEvent& event) noexcept { record(event); }
  void poll_gap(const PollGapEvent& event) noexcept { record(event); }
  void counter(const CounterEvent& event) noexcept { record(event); }
  void clock(const ClockEvent& event) noexcept { record(event); }
  /// One record for each 12 of `later`, at least one.
  void graph_task(const GraphTaskEvent& event) noexcept { record(event); }
  void graph_run(const GraphRunEvent& event) noexcept { record(event); }
  void call(const CallEvent& event) noexcept { record(event); }
  /// One record for each 12 of `members`.
  void communicator(const CommunicatorEvent& event) noexcept { record(event); }
  /// One record for each 6 of `bytes`.
  void shares(const SharesEvent& event) noexcept { record(event); }
  void engine(const EngineEvent& event) noexcept { record(event); }
  void open_region(const OpenRegionEvent& event) noexcept { record(event); }
  void sample(const SampleEvent& event) noexcept { record(event); }
  void count(const CountEvent& event) noexcept { record(event); }
  void sum(const SumEvent& event) noexcept { record(event); }
  /// One record for each 12 of `times`.
  void sum_times(const SumTimesEvent& event) noexcept { record(event); }
  void window(const WindowEvent& event) noexcept { record(event); }
  void profile_state(const ProfileStateEvent& event) noexcept { record(event); }
  /// One record for each 6 of `accesses`, at least one.
  void flow_task(const FlowTaskEvent& event) noexcept { record(event); }
  /// One record for each 12 of `claims`.
  void graph_claims(const GraphClaimsEvent& event) noexcept { record(event); }
  void engine_sum(const EngineSumEvent& event) noexcept { record(event); }
  void collective_layout(const CollectiveLayoutEvent& event) noexcept { record(event); }
  /// One record for each 4 of `earlier`, at least one.
  void task_order(const TaskOrderEvent& event) noexcept { record(event); }
  void background_time(const BackgroundTimeEvent& event) noexcept { record(event); }
  void recorder_costs(const RecorderCostsEvent& event) noexcept { record(event); }

 private:
  template <class Event>
  void record(const Event& event) noexcept {
    if (is_on()) {
      write(event);
    }
  }
  template <class Event>
  void write(const Event& event) noexcept;

  detail::EventProfile* profile_;
};

}  // namespace plait::trace
