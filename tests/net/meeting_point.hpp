// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <span>
#include <stdexcept>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/net/exchange.hpp"

namespace plait::net::conformance {

/// Where the ranks of a test meet, as threads of one process or as processes forked after it was made: a piece of
/// memory that all share.
class MeetingPoint {
 public:
  explicit MeetingPoint(std::uint32_t rank_count) : rank_count_{rank_count} {
    void* const start = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
      throw std::bad_alloc{};
    }
    here_ = new (start) Counters;
    slots_ = reinterpret_cast<Slot*>(static_cast<std::byte*>(start) + sizeof(Slot));
  }
  MeetingPoint(const MeetingPoint&) = delete;
  MeetingPoint& operator=(const MeetingPoint&) = delete;
  ~MeetingPoint() { ::munmap(here_, bytes()); }

  /// The exchange of one rank, which must not outlive this.
  [[nodiscard]] Exchange exchange_of(Rank self) {
    return [this, self](std::span<const std::byte> mine) { return exchange(self.value(), mine); };
  }

  /// Waits until all ranks have come, doing `meanwhile` again and again.
  void meet(const std::function<void()>& meanwhile = [] { std::this_thread::yield(); }) {
    const std::uint64_t ticket = here_->came.fetch_add(1, std::memory_order_acq_rel);
    const std::uint64_t all = (ticket / rank_count_ + 1) * rank_count_;
    const auto deadline = std::chrono::steady_clock::now() + wait_max;
    while (here_->came.load(std::memory_order_acquire) < all) {
      meanwhile();
      if (std::chrono::steady_clock::now() > deadline) {
        throw std::runtime_error{"the other ranks did not come"};
      }
    }
  }

 private:
  static constexpr std::chrono::seconds wait_max{60};
  struct alignas(64) Slot {
    std::uint64_t size;
    std::byte bytes[4096 - 64 - sizeof(std::uint64_t)];
  };
  struct Counters {
    std::atomic<std::uint64_t> came = 0;
  };

  [[nodiscard]] std::size_t bytes() const { return sizeof(Slot) * (rank_count_ + std::size_t{1}); }

  std::vector<Bytes> exchange(std::uint32_t self, std::span<const std::byte> mine) {
    if (mine.size() > sizeof Slot::bytes) {
      throw std::runtime_error{"more than this exchange can hold"};
    }
    slots_[self].size = mine.size();
    std::ranges::copy(mine, slots_[self].bytes);
    meet();
    std::vector<Bytes> all;
    for (std::uint32_t rank = 0; rank < rank_count_; ++rank) {
      all.emplace_back(slots_[rank].bytes, slots_[rank].bytes + slots_[rank].size);
    }
    meet();
    return all;
  }

  std::uint32_t rank_count_;
  Counters* here_;
  Slot* slots_;
};

}  // namespace plait::net::conformance
