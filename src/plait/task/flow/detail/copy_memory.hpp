// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plait/task/flow/detail/record.hpp"

namespace plait::task::detail {

/// Memory for copies of other ranks' data, within a limit. It is given to tasks in the order of submission, when they
/// are near, so that the oldest task has all it needs unless the limit is too small.
///
/// Threads: any.
class CopyMemory {
 public:
  CopyMemory(std::size_t bytes_max, std::uint64_t ahead) : bytes_max_{bytes_max}, ahead_{ahead} {}
  CopyMemory(const CopyMemory&) = delete;
  CopyMemory& operator=(const CopyMemory&) = delete;
  ~CopyMemory();

  /// Requests memory for `place` before task `consumer`; `record` waits for it.
  void ask(Record& record, Place& place, std::uint64_t consumer);
  /// Gives memory to the next request if it can. Returns its record, or null.
  [[nodiscard]] Record* give(std::uint64_t ended_tasks);
  void take_back(std::byte* memory, std::size_t bytes) noexcept;
  /// Removes a user of `place`; the last one destroys it.
  void leave(Place& place) noexcept;

  /// Returns whether requests are open. A hint for all but the thread that makes them.
  [[nodiscard]] bool is_asked() const noexcept { return asked_.load(std::memory_order_relaxed) > 0; }
  /// Returns the limit that the oldest request needs if no memory becomes free.
  [[nodiscard]] std::size_t bytes_needed() const;
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }
  /// Returns the bytes in use, and the most that were in use at once.
  [[nodiscard]] std::pair<std::size_t, std::size_t> usage() const;

 private:
  struct Wish {
    Record* record;
    Place* place;
    std::uint64_t consumer;
  };
  [[nodiscard]] std::byte* allocate(std::size_t bytes);

  const std::size_t bytes_max_;
  const std::uint64_t ahead_;
  std::atomic<std::size_t> asked_ = 0;
  mutable std::mutex mutex_;
  std::deque<Wish> wishes_;
  std::unordered_map<std::size_t, std::vector<std::byte*>> free_;  ///< By size: blocks to be used again.
  std::size_t free_bytes_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
};

/// Allocates memory aligned to a cache line.
[[nodiscard]] std::byte* allocate_aligned(std::size_t bytes);
void free_aligned(std::byte* memory) noexcept;

}  // namespace plait::task::detail
