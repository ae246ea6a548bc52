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
#include "plait/record/mpi_library.hpp"
#include "plait/record/pending.hpp"
#include "plait/record/progress.hpp"
#include "plait/record/recorded_thread.hpp"
#include "plait/record/requests.hpp"
#include "plait/record/run_meta.hpp"
#include "plait/record/sites.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// A message that `MPI_Mprobe` has matched, until it is received.
struct ProbedMessage {
  std::uint32_t communicator = trace::nothing;
  std::uint32_t peer = trace::nothing;
  std::uint32_t number = 0;  ///< Of the probe, as that is what took it out of the order of messages.
  int tag = 0;
};

/// What is known of handles of MPI, by `key_of`. Threads: any.
template <class Value>
class HandleTable {
 public:
  void set(std::uint64_t handle, Value value) {
    const std::lock_guard lock{mutex_};
    table_.insert_or_assign(handle, std::move(value));
  }
  /// An empty value for handles that are not known.
  [[nodiscard]] Value find(std::uint64_t handle) const {
    const std::lock_guard lock{mutex_};
    const auto known = table_.find(handle);
    return known != table_.end() ? known->second : Value{};
  }
  /// Removes a handle and returns its value; an empty one if it is not known.
  Value take(std::uint64_t handle) noexcept {
    const std::lock_guard lock{mutex_};
    auto node = table_.extract(handle);
    return node ? std::move(node.mapped()) : Value{};
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Value> table_;
};

/// What is known of handles that MPI has given to the program.
struct Handles {
  HandleTable<std::shared_ptr<Communicator>> windows;  ///< The communicator that each was made on.
  HandleTable<std::shared_ptr<Communicator>> files;
  HandleTable<ProbedMessage> probed;
};

/// The recording of this process, from the end of `MPI_Init` to the beginning of `MPI_Finalize`.
///
/// There is one in a process, as functions of MPI have no other argument that could lead to it: `active` below is all
/// the state of the recorder that is not in it, beside `thread_state`.
class Session {
 public:
  /// Begins to record into the folder that PLAIT_RECORD_FOLDER names. Collective over all ranks; MPI has just been
  /// initialised. Where that cannot be, on whichever rank, no rank records, and one sentence on stderr has the reason.
  static void start();
  /// Collective: clocks are compared, what is not complete is noted, the end is written down. No call is recorded
  /// from here on, apart from the one of `end_with`.
  void finish();
  /// The program ends without `MPI_Finalize`, or calls `MPI_Abort`: notes what is not complete. Not collective.
  void break_off() noexcept;

  /// Makes progress in the background until `finish` or `break_off`, or until the process exits; where MPI allows no
  /// thread to do so, rank 0 prints the reason on stderr.
  void start_progress();
  [[nodiscard]] bool has_progress() const noexcept { return progress_ != nullptr; }

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// That of the calling thread, made at its first call.
  [[nodiscard]] RecordedThread& thread();
  [[nodiscard]] Communicator& communicator(RecordedThread& thread, MPI_Comm handle) {
    const std::uint32_t epoch = communicators.epoch();
    if (thread.communicator_handle != key_of(handle) || thread.communicator_epoch != epoch) [[unlikely]] {
      thread.communicator = &communicators.find(handle);
      thread.communicator_handle = key_of(handle);
      thread.communicator_epoch = epoch;
    }
    return *thread.communicator;
  }
  /// The first of `count` numbers of calls.
  [[nodiscard]] std::uint32_t take_numbers(std::uint32_t count) noexcept {
    return numbers_.fetch_add(count, std::memory_order_relaxed);  // a count by itself
  }
  [[nodiscard]] nanoseconds now() const noexcept { return recorder.now(); }

  const Mpi mpi;
  SteadyClock clock;
  trace::Recorder recorder;
  KnownCommunicators communicators;
  Requests requests;
  Sites sites;
  Handles handles;
  /// Operations whose end the program does not know of yet: while there are any, a thread that makes progress in the
  /// background polls.
  Pending pending;

 private:
  Session(std::filesystem::path folder, Mpi found, std::uint32_t rank, std::uint32_t rank_count);

  void compare_clocks();
  void stop_progress() noexcept;
  void note_unfinished() noexcept;

  MPI_Comm own_world_{};  ///< For the recorder's own messages.
  std::filesystem::path folder_;
  trace::Meta meta_;  ///< Of rank 0.
  std::atomic<std::uint32_t> numbers_ = 1;
  std::atomic<bool> is_over_ = false;
  std::unique_ptr<Progress> progress_;
  RecordedThreads threads_;

  friend void leave_thread(void* thread) noexcept;
};

/// The session while calls are recorded; nothing before, after, and in a child that the program has forked.
extern std::atomic<Session*> active;

struct ThreadState {
  RecordedThread* thread = nullptr;
  /// Calls that the MPI library itself makes while it works for the program are none of the program's.
  bool is_inside = false;
  const void* returns_to = nullptr;  ///< Where return addresses do not are on the stack: a place for the last one.
};
/// In the fast kind of memory of a thread, which libraries that are there from the start can have.
extern constinit thread_local ThreadState thread_state [[gnu::tls_model("initial-exec")]];

/// The session if this call is to be recorded; nothing otherwise.
[[nodiscard]] inline Session* recording() noexcept {
  return thread_state.is_inside ? nullptr : active.load(std::memory_order_acquire);  // with release in start()
}

/// Where the return address of the function that it is used in is: who has called it.
[[nodiscard, gnu::always_inline]] inline const void* const* return_slot() noexcept {
#ifdef __x86_64__
  return static_cast<const void* const*>(__builtin_dwarf_cfa()) - 1;
#else
  thread_state.returns_to = __builtin_return_address(0);
  return &thread_state.returns_to;
#endif
}

}  // namespace plait::record
