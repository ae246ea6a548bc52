// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "plait/task/flow/detail/record.hpp"

namespace plait::task::detail {

/// Memory for copies of other ranks' data: given out in the order in which the tasks that need it were submitted, when
/// they are near, within a limit. So what is given out is always enough for the oldest task, or the limit is too small.
///
/// Threads: any.
class CopyMemory {
 public:
  CopyMemory(std::size_t bytes_max, std::uint64_t ahead) : bytes_max_{bytes_max}, ahead_{ahead} {}
  CopyMemory(const CopyMemory&) = delete;
  CopyMemory& operator=(const CopyMemory&) = delete;
  ~CopyMemory();

  /// Has `record`, which waits for it, given the memory of `place` before task `consumer`.
  void ask(Record& record, Place& place, std::uint64_t consumer);
  /// The next record whose place has now got its memory; or null.
  [[nodiscard]] Record* give(std::uint64_t ended_tasks);
  void take_back(std::byte* memory, std::size_t bytes) noexcept;
  /// Counts a user of `place` off; the last one ends it.
  void leave(Place& place) noexcept;

  /// A hint for all but the thread that asks.
  [[nodiscard]] bool is_asked() const noexcept { return asked_.load(std::memory_order_relaxed) > 0; }
  /// What limit the oldest asking task needs, if nothing else comes free.
  [[nodiscard]] std::size_t bytes_needed() const;
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }
  [[nodiscard]] std::size_t bytes_in_use() const;
  [[nodiscard]] std::size_t bytes_peak() const;

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

/// Memory on a cache line's border, which suits all kinds of elements.
[[nodiscard]] std::byte* allocate_aligned(std::size_t bytes);
void free_aligned(std::byte* memory) noexcept;

}  // namespace plait::task::detail
