// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <mpi.h>

#include "plait/base/clock.hpp"
#include "plait/record/communicators.hpp"
#include "plait/record/mpi_library.hpp"
#include "plait/record/pending.hpp"
#include "plait/record/progress.hpp"
#include "plait/record/requests.hpp"
#include "plait/record/sites.hpp"
#include "plait/trace/meta.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// What one thread of the program needs to record its calls. Threads: its own.
struct Lane {
  explicit Lane(trace::ThreadRecorder& own) : recorder{own} {}

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
  /// Whoever computes for longer between two polls is not spinning.
  static constexpr nanoseconds poll_gap_max{500};
  /// As much may be lost when the process is killed.
  static constexpr nanoseconds polls_length_max{100'000};

  trace::ThreadRecorder& recorder;
  trace::CallEvent polls;  ///< Not written yet.
  bool has_polls = false;
  SiteCache sites;
  // The communicator used last, and when that was looked up.
  std::uint64_t communicator_handle = 0;
  std::uint32_t communicator_epoch = 0;
  Communicator* communicator = nullptr;
  // Of the wait or test that goes on.
  std::vector<std::uint64_t> handles;
  std::vector<MPI_Status> statuses;
};

/// Windows and files: the communicator that each was made on.
class Owners {
 public:
  void set(std::uint64_t handle, std::shared_ptr<Communicator> communicator);
  void erase(std::uint64_t handle) noexcept;
  /// Nothing for handles that are not known.
  [[nodiscard]] std::shared_ptr<Communicator> find(std::uint64_t handle) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Communicator>> table_;
};

/// A message that `MPI_Mprobe` has matched, until it is received.
struct ProbedMessage {
  std::uint32_t communicator = trace::nothing;
  std::uint32_t peer = trace::nothing;
  std::uint32_t number = 0;  ///< Of the probe, as that is what took it out of the order of messages.
  int tag = 0;
};

/// The recording of this process, from the end of `MPI_Init` to the beginning of `MPI_Finalize`.
///
/// There is one in a process, as functions of MPI have no other argument that could lead to it: `active` below is all
/// the state of the recorder that is not in it, beside `thread_state`.
class Session {
 public:
  /// Begins to record into the folder that PLAIT_RECORD_FOLDER names. Collective over all ranks; MPI has just been
  /// initialised. Where that cannot be, on whichever rank, no rank records, and one sentence on stderr says why.
  static void start();
  /// Collective: clocks are compared, what is not complete is noted, the end is written down. No call is recorded
  /// from here on, apart from the one that `end_with` tells.
  void finish();
  /// The program ends without `MPI_Finalize`, or calls `MPI_Abort`: notes what is not complete. Not collective.
  void break_off() noexcept;

  /// Makes progress in the background until `finish` or `break_off`, or until the process exits; where MPI allows no
  /// thread to do so, rank 0 says why on stderr.
  void start_progress();
  [[nodiscard]] bool has_progress() const noexcept { return progress_ != nullptr; }

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;
  ~Session() = default;

  /// The lane of the calling thread, made at its first call.
  [[nodiscard]] Lane& lane();
  [[nodiscard]] Communicator& communicator(Lane& lane, MPI_Comm handle) {
    const std::uint32_t epoch = communicators.epoch();
    if (lane.communicator_handle != key_of(handle) || lane.communicator_epoch != epoch) [[unlikely]] {
      lane.communicator = &communicators.find(handle);
      lane.communicator_handle = key_of(handle);
      lane.communicator_epoch = epoch;
    }
    return *lane.communicator;
  }
  /// The first of `count` numbers of calls.
  [[nodiscard]] std::uint32_t take_numbers(std::uint32_t count) noexcept {
    return numbers_.fetch_add(count, std::memory_order_relaxed);  // a count by itself
  }
  [[nodiscard]] nanoseconds now() const noexcept { return recorder.now(); }

  const Mpi mpi;
  SteadyClock clock;
  trace::Recorder recorder;
  Communicators communicators;
  Requests requests;
  Sites sites;
  Owners windows;
  Owners files;
  /// Operations that the program has begun and not been told the end of: what a thread that makes progress in the
  /// background looks at to know whether there is anything to do.
  Pending pending;

  std::mutex probed_mutex;
  std::unordered_map<std::uint64_t, ProbedMessage> probed;

 private:
  Session(std::filesystem::path folder, Mpi found, std::uint32_t rank, std::uint32_t rank_count);

  void compare_clocks();
  void stop_progress() noexcept;
  void note_unfinished() noexcept;
  void begin_meta();
  void write_meta() noexcept;

  std::filesystem::path folder_;
  MPI_Comm own_world_{};  ///< For the recorder's own messages.
  trace::Meta meta_;      ///< Of rank 0.
  std::atomic<std::uint32_t> numbers_ = 1;
  std::atomic<bool> is_over_ = false;
  std::unique_ptr<Progress> progress_;
  std::mutex lanes_mutex_;  ///< Guards the two below.
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Lane*> spare_lanes_;  ///< Of threads that have ended.

  friend void leave_lane(void* lane) noexcept;
};

/// The session while calls are recorded; nothing before, after, and in a child that the program has forked.
extern std::atomic<Session*> active;

struct ThreadState {
  Lane* lane = nullptr;
  /// Calls that the MPI library itself makes while it works for the program are none of the program's.
  bool is_inside = false;
  const void* returns_to = nullptr;  ///< Where return addresses do not stand on the stack: a place for the last one.
};
/// In the fast kind of memory of a thread, which libraries that are there from the start can have.
extern constinit thread_local ThreadState thread_state [[gnu::tls_model("initial-exec")]];

/// The session if this call is to be recorded; nothing otherwise.
[[nodiscard]] inline Session* recording() noexcept {
  return thread_state.is_inside ? nullptr : active.load(std::memory_order_acquire);  // with release in start()
}

/// Where the return address of the function that it is used in stands: who has called it.
[[nodiscard, gnu::always_inline]] inline const void* const* return_slot() noexcept {
#ifdef __x86_64__
  return static_cast<const void* const*>(__builtin_dwarf_cfa()) - 1;
#else
  thread_state.returns_to = __builtin_return_address(0);
  return &thread_state.returns_to;
#endif
}

}  // namespace plait::record
