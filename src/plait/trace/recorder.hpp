// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/trace/event.hpp"
#include "plait/trace/preloaded_recorder.hpp"
#include "plait/trace/profile_options.hpp"
#include "plait/trace/thread_recorder.hpp"

namespace plait::trace {

struct RecorderOptions {
  /// Created if it is missing; the file in it is rank-NNNN.plt.
  std::filesystem::path folder;
  Rank rank;
  std::uint32_t rank_count = 0;
  /// The file grows by chunks of this size for each thread; a multiple of 4096.
  std::uint32_t chunk_bytes = 256 * 1024;
  /// If given, tasks, messages and regions are counted in the place of recording each: `SumTables::bytes_max` and a
  /// chunk for each thread are all that it takes. Chunks then have `SumTable::chunk_bytes`.
  std::optional<ProfileOptions> profile;
};

/// The trace of one rank: a file, names, and a `ThreadRecorder` for each thread. Must outlive its users. Threads: any.
class Recorder {
 public:
  /// Records nothing; assigns names and measures time. Borrows the clock.
  explicit Recorder(const Clock& clock);
  /// Time 0 is now. Borrows the clock. Throws: `Error` with `io` when the file cannot be created or exists, with
  /// `bad_argument` for invalid options.
  Recorder(const Clock& clock, const RecorderOptions& options);
  /// Joins the recording of the preloaded recorder, with as many workers: has its file and its time 0. The calling
  /// thread is worker 0. Borrows the clock, which is the machine's. Expects: `host.can_join`.
  Recorder(const Clock& clock, const PreloadedRecorder& host, std::uint32_t worker_count);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  [[nodiscard]] bool is_on() const noexcept;
  /// Whether it records into the files of the preloaded recorder, which also writes meta.json and compares clocks.
  [[nodiscard]] bool has_joined() const noexcept;
  /// Time since this recorder's time 0.
  [[nodiscard]] nanoseconds now() const noexcept { return clock_.now() - time_zero_; }

  /// The number of a name; numbers of each role count from 0. Takes a lock: store the result.
  [[nodiscard]] NameId name(Role role, std::string_view text);

  /// The calling thread is worker `worker` from now on. Only a recorder that has joined needs it.
  void enter_worker(WorkerId worker) noexcept;

  /// Whether counters count what tasks do: then each task is between `begin_task` and `end_task`. Constant.
  [[nodiscard]] bool counts_tasks() const noexcept;
  /// A task starts on the calling thread. Expects: `counts_tasks`. Cost: about 0.3 microseconds for each counter.
  void begin_task() noexcept;
  /// The task that started last on this thread has ended; records what was counted. Expects and cost: as `begin_task`.
  void end_task(NameId kind, std::uint64_t id, nanoseconds start, nanoseconds end) noexcept;

  /// Returns a chunk of the file for a recorder that joins this one; nothing when there is no space, or tracing is off.
  [[nodiscard]] std::span<std::byte> lend_chunk() noexcept;

  /// The recorder of worker `worker` or, if that is invalid, of the thread `name`; created at the first call. Takes a
  /// lock: store the result.
  [[nodiscard]] ThreadRecorder& thread(WorkerId worker, std::string_view name);

  /// A region begins on a worker. Only a profile needs it, whose windows may begin with regions.
  void region_begins(NameId region, nanoseconds now, WorkerId worker) noexcept;

  /// Returns a new chunk for records that change in place: zeros without the chunk's first record, mapped until this
  /// recorder ends. Empty when off, and when there is no space. `name`: of the thread in the file. Takes a lock, and
  /// some microseconds.
  [[nodiscard]] std::span<std::byte> lasting_chunk(std::string_view name) noexcept;

 private:
  struct State;

  const Clock& clock_;
  nanoseconds time_zero_;
  std::unique_ptr<State> state_;
};

}  // namespace plait::trace
