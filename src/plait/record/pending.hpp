// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace plait::record {

/// Counts the operations in flight and the threads inside MPI, for the progress thread.
///
/// Threads: any, but one at a time in `await_first`. Cost: a few nanoseconds a call.
class Pending {
 public:
  /// Counts an operation that was started. Wakes the sleeping thread, which takes 2 us.
  void begin() noexcept {
    if (in_flight_.fetch_add(1, std::memory_order_seq_cst) == 0 &&  // with await_first()
        is_awaited_.load(std::memory_order_seq_cst)) [[unlikely]] {
      wake();
    }
  }
  /// Counts an operation whose end was reported to the program.
  void end() noexcept { in_flight_.fetch_sub(1, std::memory_order_relaxed); }

  /// A thread of the program enters and leaves MPI; inside, it makes progress itself.
  void enter() noexcept { entries_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept { exits_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] bool is_any_in_flight() const noexcept { return in_flight_.load(std::memory_order_relaxed) > 0; }
  /// The number of entries into MPI.
  [[nodiscard]] std::uint64_t entry_count() const noexcept { return entries_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_any_inside() const noexcept {
    const std::uint64_t left = exits_.load(std::memory_order_relaxed);  // read first, so that concurrent entries count
    return entries_.load(std::memory_order_relaxed) != left;
  }

  /// Sleeps until an operation is started or `wake` is called; not at all if one is in flight. May return early. One
  /// thread at a time.
  void await_first() noexcept {
    const std::uint32_t seen = wakes_.load(std::memory_order_acquire);
    is_awaited_.store(true, std::memory_order_seq_cst);  // with begin(): one of the two sees the other
    if (in_flight_.load(std::memory_order_seq_cst) <= 0 && !is_over_.load(std::memory_order_seq_cst)) {
      wakes_.wait(seen, std::memory_order_acquire);
    }
    is_awaited_.store(false, std::memory_order_relaxed);
  }
  /// Wakes the thread that sleeps.
  void wake() noexcept {
    wakes_.fetch_add(1, std::memory_order_release);
    wakes_.notify_all();
  }
  /// Ends the current sleep, and prevents later ones.
  void finish() noexcept {
    is_over_.store(true, std::memory_order_seq_cst);  // with await_first()
    wake();
  }
  [[nodiscard]] bool is_over() const noexcept { return is_over_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::int64_t> in_flight_ = 0;
  std::atomic<std::uint64_t> entries_ = 0;
  std::atomic<std::uint64_t> exits_ = 0;
  std::atomic<std::uint32_t> wakes_ = 0;
  std::atomic<bool> is_awaited_ = false;
  std::atomic<bool> is_over_ = false;
};

}  // namespace plait::record
