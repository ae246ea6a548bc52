// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/trace/event.hpp"

namespace plait::trace {

/// Takes the events of one thread: about 20 ns each; when tracing is off, one predictable branch.
///
/// Owned by its `Recorder`. Threads: one at a time. An event is in the file once the call has
/// returned, also when the process is killed. Never throws: when the disk is full, the recorder
/// says so once on stderr and events are lost from then on.
class ThreadRecorder {
 public:
  ThreadRecorder(const ThreadRecorder&) = delete;
  ThreadRecorder& operator=(const ThreadRecorder&) = delete;
  ThreadRecorder(ThreadRecorder&&) = delete;
  ThreadRecorder& operator=(ThreadRecorder&&) = delete;
  ~ThreadRecorder();

  /// Whether events are kept: what is costly to find out need not be when they are not.
  [[nodiscard]] bool is_on() const noexcept { return next_ != nullptr; }

  // The worker of an event is this recorder's.
  void task(const TaskEvent& event) noexcept {
    if (is_on()) {
      record(event);
    }
  }
  void message(const MessageEvent& event) noexcept {
    if (is_on()) {
      record(event);
    }
  }
  void span(const SpanEvent& event) noexcept {
    if (is_on()) {
      record(event);
    }
  }
  void poll_gap(const PollGapEvent& event) noexcept {
    if (is_on()) {
      record(event);
    }
  }
  void counter(const CounterEvent& event) noexcept {
    if (is_on()) {
      record(event);
    }
  }
  void clock(const ClockEvent& event) noexcept {
    if (is_on()) {
      record(event);
    }
  }
  /// One record for each twelve tasks after it, at least one.
  void graph_task(const GraphTaskEvent& event) noexcept {
    if (is_on()) {
      record(event);
    }
  }
  void graph_run(const GraphRunEvent& event) noexcept {
    if (is_on()) {
      record(event);
    }
  }
  void call(const CallEvent& event) noexcept {
    if (is_on()) {
      record(event);
    }
  }
  /// One record for each twelve members.
  void communicator(const CommunicatorEvent& event) noexcept {
    if (is_on()) {
      record(event);
    }
  }
  /// One record for each six members.
  void shares(const SharesEvent& event) noexcept {
    if (is_on()) {
      record(event);
    }
  }

 private:
  friend class Recorder;
  struct Chunks;

  /// With no `chunks`: off.
  explicit ThreadRecorder(std::unique_ptr<Chunks> chunks) noexcept;

  void record(const TaskEvent& event) noexcept;
  void record(const MessageEvent& event) noexcept;
  void record(const SpanEvent& event) noexcept;
  void record(const PollGapEvent& event) noexcept;
  void record(const CounterEvent& event) noexcept;
  void record(const ClockEvent& event) noexcept;
  void record(const GraphTaskEvent& event) noexcept;
  void record(const GraphRunEvent& event) noexcept;
  void record(const CallEvent& event) noexcept;
  void record(const CommunicatorEvent& event) noexcept;
  void record(const SharesEvent& event) noexcept;
  void record_name(Role role, NameId name, std::string_view text) noexcept;
  template <class Record>
  void append(Record& record) noexcept;
  void begin_chunk() noexcept;

  std::byte* next_ = nullptr;  ///< Where the next record goes; nothing when off.
  std::byte* end_ = nullptr;   ///< Of the chunk.
  std::uint16_t worker_ = 0;
  std::unique_ptr<Chunks> chunks_;
};

struct RecorderOptions {
  /// Made if it is not there; the file in it is rank-NNNN.plt.
  std::filesystem::path folder;
  Rank rank;
  std::uint32_t rank_count = 0;
  /// A multiple of 4096: what each thread's part of the file grows by.
  std::uint32_t chunk_bytes = 256 * 1024;
};

/// The trace of one rank: a file, names, and one `ThreadRecorder` for each thread.
///
/// Knows ids and registered names, never a task or a message class. Must outlive what records.
/// Threads: all calls from any.
class Recorder {
 public:
  /// Off: gives names, keeps time, records nothing. Borrows the clock.
  explicit Recorder(const Clock& clock);
  /// Time 0 is now. Borrows the clock. Throws: `Error` with `io` when the file cannot be made or
  /// is there already, with `bad_argument` for options that make no sense.
  Recorder(const Clock& clock, const RecorderOptions& options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  Recorder(Recorder&&) = delete;
  Recorder& operator=(Recorder&&) = delete;
  ~Recorder();

  [[nodiscard]] bool is_on() const noexcept;
  /// Time since this recorder's time 0.
  [[nodiscard]] nanoseconds now() const noexcept { return clock_.now() - time_zero_; }

  /// The number of a name: the same text has the same one. Numbers of each role count from 0.
  /// Takes a lock; ask once and keep it.
  [[nodiscard]] NameId name(Role role, std::string_view text);

  /// The recorder of a thread, made at the first call: of worker `worker`, or, for a thread that is
  /// no worker (an invalid id), of the thread called `name`. Takes a lock; ask once and keep it.
  [[nodiscard]] ThreadRecorder& thread(WorkerId worker, std::string_view name);

 private:
  struct State;

  const Clock& clock_;
  nanoseconds time_zero_;
  std::unique_ptr<State> state_;
};

}  // namespace plait::trace
