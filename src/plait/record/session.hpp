// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <mpi.h>

#include "plait/base/clock.hpp"
#include "plait/record/communicators.hpp"
#include "plait/record/joined_runtime.hpp"
#include "plait/record/mpi_library.hpp"
#include "plait/record/pending.hpp"
#include "plait/record/progress.hpp"
#include "plait/record/recorded_threads.hpp"
#include "plait/record/requests.hpp"
#include "plait/record/samples.hpp"
#include "plait/record/sites.hpp"
#include "plait/trace/meta.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// A message that `MPI_Mprobe` has matched, until it is received.
struct ProbedMessage {
  std::uint32_t communicator = trace::nothing;
  std::uint32_t peer = trace::nothing;
  std::uint32_t number = 0;  ///< Of the probe, which matched the message.
  int tag = 0;
};

/// Values by handle (`key_of`). Threads: any.
template <class Value>
class HandleTable {
 public:
  void set(std::uint64_t handle, Value value) {
    const std::lock_guard lock{mutex_};
    table_.insert_or_assign(handle, std::move(value));
  }
  /// Returns an empty value for an unknown handle.
  [[nodiscard]] Value find(std::uint64_t handle) const {
    const std::lock_guard lock{mutex_};
    const auto known = table_.find(handle);
    return known != table_.end() ? known->second : Value{};
  }
  /// Removes a handle and returns its value, or an empty one.
  Value take(std::uint64_t handle) noexcept {
    const std::lock_guard lock{mutex_};
    auto node = table_.extract(handle);
    return node ? std::move(node.mapped()) : Value{};
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Value> table_;
};

/// What the recorder knows of the program's handles.
struct Handles {
  HandleTable<std::shared_ptr<Communicator>> windows;  ///< The communicator of each.
  HandleTable<std::shared_ptr<Communicator>> files;
  HandleTable<ProbedMessage> probed;
};

/// The run that is recorded, as its folder has it.
struct DescribedRun {
  std::filesystem::path folder;
  trace::Meta meta;  ///< Of rank 0.
};

/// The recording of this process, from the end of `MPI_Init` to the beginning of `MPI_Finalize`.
///
/// A process has one, as MPI functions have no argument that could lead to it. The only other state of the recorder is
/// `active` and `thread_state`.
class Session {
 public:
  /// Starts to record into the folder PLAIT_RECORD_FOLDER, if it is set. Collective over all ranks, once MPI is
  /// initialised, also before MPI_Init returns to the program.
  /// If a rank cannot record, no rank does, and it prints the reason on stderr.
  static void start();
  /// Records incomplete operations, compares clocks and writes meta.json. Collective. Only the current call is recorded
  /// afterwards.
  void finish();
  /// Records incomplete operations of a program that ends without `MPI_Finalize`. Not collective.
  void break_off() noexcept;

  /// Starts background progress until `finish`, `break_off` or the exit of the process. If MPI does not allow it, rank
  /// 0 prints the reason on stderr.
  void start_progress();
  [[nodiscard]] bool has_progress() const noexcept { return progress_ != nullptr; }

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The state of the calling thread, created by its first call.
  [[nodiscard]] RecordedThread& thread();
  /// The calling thread becomes worker 0 of the runtime that joins.
  void join_runtime(std::uint32_t worker_count) { runtime.join(threads_, recorder, thread(), worker_count); }
  /// The calling thread is recorded as `own` from now on.
  void adopt_thread(RecordedThread& own);
  [[nodiscard]] Communicator& communicator(RecordedThread& thread, MPI_Comm handle) {
    const std::uint32_t epoch = communicators.epoch();
    if (thread.communicator_handle != key_of(handle) || thread.communicator_epoch != epoch) [[unlikely]] {
      thread.communicator = &communicators.find(handle);
      thread.communicator_handle = key_of(handle);
      thread.communicator_epoch = epoch;
    }
    return *thread.communicator;
  }
  /// Takes `count` sequence numbers; returns the first.
  [[nodiscard]] std::uint32_t take_numbers(std::uint32_t count) noexcept {
    return numbers_.fetch_add(count, std::memory_order_relaxed);  // a count by itself
  }
  /// Records messages and communicators only, so that messages still meet, until `resume`. Any thread.
  void pause() noexcept;
  /// Records all again, and the time of the pause as a span of the calling thread. Does nothing without a pause.
  void resume() noexcept;
  [[nodiscard]] bool is_paused() const noexcept {
    return paused_since_.load(std::memory_order_relaxed) >= 0;  // what follows may be seen a little later
  }
  [[nodiscard]] nanoseconds now() const noexcept { return recorder.now(); }
  /// Whether counters count what tasks and regions do.
  [[nodiscard]] bool is_counting() const noexcept { return threads_.is_counting(); }

  /// False: only what joins, regions and samples are recorded, not MPI calls.
  const bool records_calls;
  const Mpi mpi;
  SteadyClock clock;
  trace::Recorder recorder;
  KnownCommunicators communicators;
  Requests requests;
  Sites sites;
  Handles handles;
  JoinedRuntime runtime;
  /// While operations are in flight, the progress thread polls.
  Pending pending;

 private:
  Session(std::filesystem::path folder, Mpi found, std::uint32_t rank, std::uint32_t rank_count);

  void start_counters() noexcept;
  void record_own_cost() noexcept;
  void start_samples();
  void compare_clocks();
  void stop_progress() noexcept;
  void note_unfinished() noexcept;

  MPI_Comm own_world_{};  ///< For messages of the recorder.
  DescribedRun run_;
  std::atomic<std::uint32_t> numbers_ = 1;
  std::atomic<bool> is_over_ = false;
  std::atomic<nanoseconds::rep> paused_since_ = -1;
  std::unique_ptr<Progress> progress_;
  RecordedThreads threads_;
  std::unique_ptr<RecordedSamples> samples_;

  friend void leave_thread(void* thread) noexcept;
};

/// The session while the program is recorded; null before, after, and in a forked child.
extern std::atomic<Session*> active;

struct ThreadState {
  RecordedThread* thread = nullptr;
  /// Whether the thread is inside a recorded call: calls by the MPI library are not recorded.
  bool is_inside = false;
  /// The frame of the MPI function that was called last.
  const std::uintptr_t* frame = nullptr;
  const void* returns_to = nullptr;  ///< The return address, on processors that have it in a register.
};
/// Static thread-local storage, which is fast, and available to libraries that are loaded at the start.
extern constinit thread_local ThreadState thread_state [[gnu::tls_model("initial-exec")]];

/// Whether the environment requests background progress: PLAIT_RECORD_PROGRESS is set and not 0.
[[nodiscard]] bool is_progress_wanted();
/// Whether MPI calls are recorded: PLAIT_RECORD_CALLS is not 0.
[[nodiscard]] bool are_calls_wanted();

/// Returns the session; null inside of a recorded call, and if there is none.
[[nodiscard]] inline Session* session_of_program() noexcept {
  return thread_state.is_inside ? nullptr : active.load(std::memory_order_acquire);  // with release in start()
}
/// Returns the session if this call is to be recorded, else null.
[[nodiscard]] inline Session* recording() noexcept {
  Session* const session = session_of_program();
  return session != nullptr && session->records_calls ? session : nullptr;
}

/// Returns the place of the return address of the function in which it is inlined.
[[nodiscard, gnu::always_inline]] inline const void* const* return_slot() noexcept {
  thread_state.frame = static_cast<const std::uintptr_t*>(__builtin_frame_address(0));
#ifdef __x86_64__
  return static_cast<const void* const*>(__builtin_dwarf_cfa()) - 1;
#else
  thread_state.returns_to = __builtin_return_address(0);
  return &thread_state.returns_to;
#endif
}

}  // namespace plait::record
