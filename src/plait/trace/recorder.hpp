// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/trace/event.hpp"
#include "plait/trace/thread_recorder.hpp"

namespace plait::trace {

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
