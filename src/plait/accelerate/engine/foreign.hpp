// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>

#include <mpi.h>

#include "plait/comm/progression.hpp"

namespace plait::accelerate {

/// An operation of the MPI library that does not complete by itself. Ends with `end_endless`.
[[nodiscard]] MPI_Request begin_endless() noexcept;
void end_endless(MPI_Request& request) noexcept;

/// What the program has begun with the MPI library itself and not ended: non-blocking collectives, one-sided
/// operations, files. While there is any, waits for messages and threads in the background keep the library moving.
/// Threads: any.
class Foreign : public comm::PolledBeside {
 public:
  Foreign();
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  [[nodiscard]] bool is_active() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }
  /// A call of the library has begun an operation, if it succeeded. Returns its result.
  int begun(int result, const MPI_Request* request) noexcept {
    if (result == MPI_SUCCESS && *request != MPI_REQUEST_NULL) {
      add();
    }
    return result;
  }
  /// A call of the library has made a persistent request, if it succeeded. Returns its result.
  int prepared(int result, const MPI_Request* request);
  /// A persistent request was started, if that succeeded.
  void started(int result, MPI_Request request);
  /// A wait or test has ended the operation of what was `request` before.
  void ended(MPI_Request request) noexcept;
  /// The program has freed `request`.
  void freed(MPI_Request request) noexcept;
  /// Whether a wait for `request` would return an empty status: it is null, or persistent and not started.
  [[nodiscard]] bool is_inactive(MPI_Request request) const noexcept;

  void opened(int result) noexcept {
    if (result == MPI_SUCCESS) {
      add();
    }
  }
  void closed(int result) noexcept { count_.fetch_sub(result == MPI_SUCCESS ? 1 : 0, std::memory_order_relaxed); }

  /// Keeps threads in the background from polling the library, until `resume` is called as often. Open MPI moves files
  /// and partitioned messages in any thread that polls, without a lock.
  void suspend();
  void resume() noexcept { suspended_.fetch_sub(1, std::memory_order_relaxed); }

  /// Has the library make progress on all of it.
  void progress() noexcept;
  /// As `progress`, for threads in the background. Does nothing while another thread is in the library, where functions
  /// that wait poll by themselves.
  void poll() noexcept override;
  [[nodiscard]] bool needs_polls() const noexcept override { return is_active(); }
  [[nodiscard]] bool arm(const std::function<void()>* doorbell) noexcept override;
  /// Before MPI is finalised.
  void end() noexcept;

 private:
  /// One more that is under way.
  void add() noexcept {
    if (count_.fetch_add(1) <= 0) {  // sequentially consistent, as in arm(): one of the two finds the other
      ring();
    }
  }
  void ring() noexcept;
  void advance() noexcept;  // with the lock held

  std::atomic<std::int64_t> count_ = 0;
  std::atomic<const std::function<void()>*> doorbell_ = nullptr;
  std::atomic<bool> has_persistent_ = false;
  mutable std::mutex persistent_mutex_;
  std::unordered_map<MPI_Request, bool> persistent_;  ///< Whether each was started and has not ended.
  std::mutex mutex_;
  std::atomic<int> suspended_ = 0;  ///< Grows under the lock.
  MPI_Request endless_;             ///< To test it is to poll.
};

}  // namespace plait::accelerate
