// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plait::comm {

namespace detail {
class Completions;
class Copies;
class Core;
class Network;
class OneSidedTransfers;
}  // namespace detail

/// Counters of an endpoint, for threads that decide whether to poll: hints without memory ordering. Threads: any.
class Activity {
 public:
  /// Operations that are not complete.
  [[nodiscard]] std::size_t outstanding_count() const noexcept { return outstanding_.load(std::memory_order_relaxed); }
  /// Whether bulk data is in flight or being copied, which moves only while a thread polls: waiting threads should then
  /// yield, not sleep.
  [[nodiscard]] bool is_moving_bulk() const noexcept {
    return bulk_count_.load(std::memory_order_relaxed) > 0 || copies_.load(std::memory_order_relaxed) > 0;
  }
  /// Whether messages of others are being forwarded, which no thread waits for.
  [[nodiscard]] bool is_forwarding() const noexcept { return forwards_.load(std::memory_order_relaxed) > 0; }
  /// Whether anything is in flight, so that a thread should poll periodically.
  [[nodiscard]] bool needs_polls() const noexcept {
    return outstanding_count() > 0 || is_moving_bulk() || is_sending_.load(std::memory_order_relaxed);
  }
  /// Whether active messages, puts or gets may arrive, although nothing is in flight here.
  [[nodiscard]] bool is_listening() const noexcept { return is_listening_.load(std::memory_order_relaxed); }
  /// Polls so far, by any thread.
  [[nodiscard]] std::uint64_t poll_count() const noexcept { return poll_count_.load(std::memory_order_relaxed); }
  /// Packets sent so far, of messages and of the protocol.
  [[nodiscard]] std::uint64_t packet_count() const noexcept { return packet_count_.load(std::memory_order_relaxed); }
  /// Pieces of segments of non-contiguous messages that were copied without the lock so far, by any thread;
  [[nodiscard]] std::uint64_t copied_pieces() const noexcept { return copied_pieces_.load(std::memory_order_relaxed); }
  /// and of these, by a thread other than the one that had polled for the segment.
  [[nodiscard]] std::uint64_t helped_pieces() const noexcept { return helped_pieces_.load(std::memory_order_relaxed); }

 private:
  friend class detail::Completions;
  friend class detail::Copies;
  friend class detail::Core;
  friend class detail::Network;
  friend class detail::OneSidedTransfers;

  // Written with the endpoint's lock held.
  void note_packet() noexcept { packet_count_.store(packet_count() + 1, std::memory_order_relaxed); }
  void note_outstanding(std::size_t count, std::size_t forwards) noexcept {
    outstanding_.store(count, std::memory_order_relaxed);
    forwards_.store(forwards, std::memory_order_relaxed);
  }
  void note_sending(bool is_sending) noexcept { is_sending_.store(is_sending, std::memory_order_relaxed); }
  void note_listening() noexcept { is_listening_.store(true, std::memory_order_relaxed); }
  void note_bulk(std::size_t count) noexcept { bulk_count_.store(count, std::memory_order_relaxed); }

  // Written with the lock of the copies held.
  void note_copies(std::size_t count) noexcept { copies_.store(count, std::memory_order_relaxed); }
  void note_piece(bool is_by_helper) noexcept {
    copied_pieces_.store(copied_pieces() + 1, std::memory_order_relaxed);
    helped_pieces_.store(helped_pieces() + (is_by_helper ? 1 : 0), std::memory_order_relaxed);
  }

  std::atomic<std::size_t> outstanding_ = 0;
  std::atomic<std::size_t> bulk_count_ = 0;
  std::atomic<std::size_t> copies_ = 0;
  std::atomic<std::uint64_t> copied_pieces_ = 0;
  std::atomic<std::uint64_t> helped_pieces_ = 0;
  std::atomic<std::uint64_t> poll_count_ = 0;
  std::atomic<std::uint64_t> packet_count_ = 0;
  std::atomic<std::size_t> forwards_ = 0;
  std::atomic<bool> is_sending_ = false;
  std::atomic<bool> is_listening_ = false;
};

}  // namespace plait::comm
