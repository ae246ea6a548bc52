// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "plait/base/spin_lock.hpp"
#include "plait/comm/activity.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/options.hpp"

namespace plait::comm::detail {

/// Which way a segment of a non-contiguous message is copied.
enum class CopyDirection : std::uint8_t { pack, unpack };

/// A copy between packed memory and a message's own.
struct SegmentCopy {
  CopyDirection direction = CopyDirection::pack;
  const MessageMemory* memory = nullptr;  ///< Must stay until the copy has ended.
  std::size_t offset = 0;                 ///< In the message.
  std::span<std::byte> packed;
  std::uint64_t cookie = 0;  ///< Identifies it at its end.
};

/// The copies of segments that are divided among the threads that make progress at the same time.
///
/// The thread that polls queues a copy with the endpoint's lock held, and copies without it. Threads that come
/// meanwhile help: each takes a piece at a time, so that one that comes late delays no other. Threads: any for `help`
/// and the hints; `copy` and `take_ended` with the endpoint's lock held. Cost: two short locks for each piece.
class Copies {
 public:
  struct Ended {
    CopyDirection direction;
    std::uint64_t cookie;
  };

  /// Throws: `Error` with `bad_argument` for pieces of 0 bytes.
  Copies(const EndpointOptions& options, Activity& activity);

  /// Copies at once what is not worth dividing, and returns true. Else queues it: `take_ended` returns it later.
  [[nodiscard]] bool copy(const SegmentCopy& what);
  /// Copies pieces until there are none left to take, or a copy has ended. Returns their number; 0 when enough threads
  /// copy already.
  std::size_t help() noexcept;
  /// Returns the copies that have ended since the last call.
  [[nodiscard]] std::vector<Ended> take_ended();

  /// Sets how many threads copy at once, at least 1. Threads: any.
  void set_copiers_max(std::uint32_t count) noexcept;
  /// Sets what wakes helpers: borrowed, null for nothing. Waits for a call that runs.
  void set_wake(const std::function<void(std::uint32_t)>* wake);
  /// Wakes `count` helpers.
  void wake(std::uint32_t count);

  /// Hints. The thread that queues a piece, or ends a copy, sees it at once.
  [[nodiscard]] bool has_pieces() const noexcept { return has_pieces_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_.load(std::memory_order_relaxed); }
  /// How many sleeping threads to wake for what was queued since the last call. Only with the endpoint's lock held.
  [[nodiscard]] std::uint32_t take_helpers_wanted() noexcept;

 private:
  struct Shared {
    SegmentCopy what;
    std::thread::id queued_by;
    std::size_t next = 0;  ///< The first byte that no thread has taken.
    std::size_t left = 0;  ///< Bytes that are not copied yet.
  };
  struct Piece {
    std::shared_ptr<Shared> of;
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };

  static void move(const SegmentCopy& what, std::size_t offset, std::size_t bytes);
  [[nodiscard]] Piece take() noexcept;
  [[nodiscard]] bool end(const Piece& piece) noexcept;

  std::atomic<std::uint32_t> copiers_max_;  ///< Orders nothing.
  const std::size_t piece_bytes_;
  Activity& activity_;
  std::size_t new_bytes_ = 0;  ///< Queued since `take_helpers_wanted`.
  std::atomic<bool> has_pieces_ = false;
  std::atomic<bool> has_ended_ = false;

  SpinLock mutex_;  ///< Guards what follows; the atomics above are written with it held.
  std::uint32_t copiers_ = 0;
  std::deque<std::shared_ptr<Shared>> queue_;  ///< Those with bytes to take, oldest first.
  std::vector<Ended> ended_;
  std::size_t open_ = 0;  ///< Copies that were queued, and not taken as ended.

  SpinLock wake_mutex_;  ///< Held during a call.
  const std::function<void(std::uint32_t)>* wake_ = nullptr;
};

}  // namespace plait::comm::detail
