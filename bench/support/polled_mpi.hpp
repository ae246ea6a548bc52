// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <thread>

#include <mpi.h>

#include "support/raw_mpi.hpp"

namespace bench {

/// The background progress that a program without plait can have: raw MPI with a thread that tests the request under
/// way every millisecond. One request at a time; needs MPI_THREAD_MULTIPLE.
class PolledMpi {
 public:
  struct Request {};

  explicit PolledMpi(const RawMpi& side) : side_{side}, thread_{[this] { poll(); }} {}
  PolledMpi(const PolledMpi&) = delete;
  PolledMpi& operator=(const PolledMpi&) = delete;
  ~PolledMpi() {
    {
      const std::lock_guard lock{mutex_};
      is_over_ = true;
    }
    has_work_.notify_one();
    thread_.join();
  }

  [[nodiscard]] Request send(int to, int tag, std::span<const std::byte> data) {
    return watch(side_.send(to, tag, data));
  }
  [[nodiscard]] Request receive(int from, int tag, std::span<std::byte> buffer) {
    return watch(side_.receive(from, tag, buffer));
  }
  void wait(Request&) {
    const std::lock_guard lock{mutex_};
    MPI_Wait(&request_, MPI_STATUS_IGNORE);  // returns at once when the thread has completed it
  }
  void blocking_send(int to, int tag, std::span<const std::byte> data) { side_.blocking_send(to, tag, data); }
  void blocking_receive(int from, int tag, std::span<std::byte> buffer) { side_.blocking_receive(from, tag, buffer); }

 private:
  Request watch(MPI_Request request) {
    {
      const std::lock_guard lock{mutex_};
      request_ = request;
    }
    has_work_.notify_one();
    return {};
  }

  void poll() {
    std::unique_lock lock{mutex_};
    while (!is_over_) {
      has_work_.wait(lock, [this] { return is_over_ || request_ != MPI_REQUEST_NULL; });
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      lock.lock();
      int is_complete = 0;
      MPI_Test(&request_, &is_complete, MPI_STATUS_IGNORE);
    }
  }

  RawMpi side_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace bench
