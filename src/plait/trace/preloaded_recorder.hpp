// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::trace {

/// The functions by which plait's runtime records into the files of the recorder that `plait record` preloads: then the
/// program's MPI calls and the runtime's tasks have one clock and one file a rank.
///
/// Recorder and program have copies of this library that may differ, so this is an interface of C: `version` comes
/// first, and nothing is removed within a version. No function throws. Threads: any.
struct PreloadedRecorder {
  static constexpr std::uint32_t version_here = 2;
  static constexpr const char* symbol = "plait_preloaded_recorder";

  std::uint32_t version;
  /// Bytes of a chunk of the file.
  std::uint32_t chunk_bytes;
  /// Starts the recording, if it is wanted and has not started: for a library that joins before MPI_Init returns to the
  /// program. Collective over MPI_COMM_WORLD, once MPI is initialised.
  void (*start)();
  /// Whether a runtime with this rank, of so many ranks, can record into the files: they are written now, have the same
  /// ranks, and no runtime of the process has joined yet.
  bool (*can_join)(std::uint32_t rank, std::uint32_t rank_count);
  /// Joins; the calling thread becomes worker 0. Returns the reading of the steady clock at the file's time 0, in
  /// nanoseconds. Expects: `can_join`.
  std::int64_t (*join)(std::uint32_t worker_count);
  /// Returns a chunk of zeros, mapped into memory, which the caller unmaps; null when there is no space.
  std::byte* (*next_chunk)();
  /// The number of a name; `role` is a `Role`.
  std::uint32_t (*name)(std::uint8_t role, const char* text, std::size_t length);
  /// The thread number that the file has for a worker of the runtime.
  std::uint16_t (*thread_of_worker)(std::uint16_t worker);
  /// The calling thread is a worker of the runtime: its MPI calls are recorded under that number.
  void (*enter_worker)(std::uint16_t worker);
  /// Whether MPI calls of the calling thread are hidden from the recorder from now on; returns what was so before.
  bool (*hide_calls)(bool are_hidden);
  /// Adds an option of the runtime to meta.json.
  void (*note_option)(const char* name, const char* value);
  /// Whether counters are to count what tasks do; constant once a runtime has joined.
  bool (*counts_tasks)();
  /// A task starts on the calling thread. Tasks may be nested. Costs about 0.3 microseconds for each counter.
  void (*begin_task)();
  /// The task that started last on the calling thread has ended: what was counted is recorded. `kind`: the number of
  /// its name; `id`: as in its record; times: since the file's time 0, in nanoseconds. Cost: as `begin_task`.
  void (*end_task)(std::uint32_t kind, std::uint64_t id, std::int64_t start, std::int64_t end);
  /// Whether this is a profile: events are counted, and recorded one by one in windows only.
  bool (*is_profile)();
  /// Of a profile: whether there may be windows, and whether one is open at any time from `start` to `end`, both in
  /// nanoseconds since the file's time 0.
  bool (*has_windows)();
  bool (*keeps)(std::int64_t start, std::int64_t end);
  /// Of a profile: a region of the runtime begins or ends, and may open or close a window. `name`: its number.
  void (*region_begins)(std::uint32_t name, std::int64_t now);
  void (*region_ends)(std::uint32_t name, std::int64_t now);
};

/// The recorder that was preloaded into this process, if it has the version of this library; else null. Cost: a load
/// after the first call.
[[nodiscard]] const PreloadedRecorder* preloaded_recorder() noexcept;

/// While it lives, MPI calls of this thread are the runtime's own, and the recorder leaves them out. Cost: nanoseconds.
class OwnCalls {
 public:
  OwnCalls() noexcept
      : recorder_{preloaded_recorder()}, were_hidden_{recorder_ != nullptr && recorder_->hide_calls(true)} {}
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;
  ~OwnCalls() {
    if (recorder_ != nullptr) {
      recorder_->hide_calls(were_hidden_);
    }
  }

 private:
  const PreloadedRecorder* recorder_;
  bool were_hidden_;
};

}  // namespace plait::trace
