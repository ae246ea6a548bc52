// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "plait/base/spin_lock.hpp"
#include "plait/replay/backend/backend.hpp"
#include "plait/replay/detail/buffer_pool.hpp"
#include "plait/replay/detail/payload_pattern.hpp"
#include "plait/replay/part.hpp"
#include "plait/replay/play_options.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::replay::detail {

class PlayThread;

enum class Stage : std::uint8_t { not_begun, begun, ended };

/// The state of an operation.
struct UnderWay {
  std::atomic<Stage> stage = Stage::not_begun;
  bool is_waited = false;  ///< There is a wait for it.
  std::byte* buffer = nullptr;
  nanoseconds posted{};
  nanoseconds handed{};
  std::uint32_t number = 0;  ///< Of the call.
  std::uint64_t order = 0;   ///< Of a checked message.
  std::uint32_t stream = 0;
  std::uint32_t index = 0;
};

/// Numbers of functions: those of messages, then blocking collectives, then non-blocking ones.
enum Function : std::size_t { function_send, function_receive, function_wait, function_test, function_progress };
inline constexpr std::size_t collective_count = static_cast<std::size_t>(Collective::scan) + 1;
inline constexpr std::size_t function_count = function_progress + 1 + 2 * collective_count;
[[nodiscard]] constexpr std::size_t function_of(Collective what, Calling calling) noexcept {
  return function_progress + 1 + static_cast<std::size_t>(what) + (calling == Calling::waits ? 0 : collective_count);
}

/// Numbers the messages that agree in direction, peer, communicator and tag. Threads: any.
class MessageOrders {
 public:
  /// The number of such messages that were posted before.
  [[nodiscard]] std::uint64_t next(const Operation& operation) {
    const std::lock_guard lock{mutex_};
    return counts_[{operation.action == Action::send, operation.peer, operation.communicator, operation.tag}]++;
  }
  void clear() { counts_.clear(); }

 private:
  SpinLock mutex_;
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t, std::uint64_t>, std::uint64_t> counts_;
};

/// Signals between the threads of a player, and to a watch.
struct Signals {
  std::atomic<std::uint64_t> moved = 0;
  std::atomic<std::uint32_t> numbers = 0;
  std::atomic<bool> stops = false;  ///< A thread has failed.
  std::atomic<bool> has_begun_all = false;
};

/// What the threads of a player share. Threads: any for atomics and members with locks; an operation belongs to one.
struct PlayState {
  PlayState(Backend& backend_, const RankPart& part_, PlayOptions options_);

  [[nodiscard]] OperationId id(std::uint32_t stream, std::uint32_t index) const {
    return OperationId{static_cast<std::uint32_t>(first_of_stream[stream] + index)};
  }
  [[nodiscard]] const Operation& operation(const UnderWay& one) const {
    return part.schedule.streams[one.stream].operations[one.index];
  }
  /// The number of the next call.
  [[nodiscard]] std::uint32_t next_number() noexcept {
    return signals.numbers.fetch_add(1, std::memory_order_relaxed) + 1;  // a count; orders nothing
  }
  /// Whether a stream has passed an operation.
  [[nodiscard]] bool has_passed(const StreamPoint& point) const noexcept {
    return at[point.stream].load(std::memory_order_acquire) > point.operation;  // with release in PlayThread
  }
  /// Before a repetition, while no thread plays.
  void rewind() noexcept {
    for (UnderWay& one : operations) {
      one.stage.store(Stage::not_begun, std::memory_order_relaxed);  // no thread plays yet, as below
    }
    for (std::atomic<std::uint32_t>& next : at) {
      next.store(0, std::memory_order_relaxed);
    }
    signals.numbers.store(0, std::memory_order_relaxed);
    signals.has_begun_all.store(false, std::memory_order_relaxed);
    orders.clear();
  }
  /// Counts an operation that was started or has ended.
  void note_motion() noexcept { signals.moved.fetch_add(1, std::memory_order_relaxed); }  // a count; orders nothing
  /// The pool of an operation's buffer.
  [[nodiscard]] BufferPool& pool_of(const Operation& operation) noexcept {
    return operation.action == Action::send ? sent_buffers : buffers;
  }

  Backend& backend;
  const RankPart& part;
  const PlayOptions options;
  std::vector<std::size_t> first_of_stream;
  std::vector<UnderWay> operations;
  BufferPool buffers;
  BufferPool sent_buffers;  ///< Separate, as received buffers are in the cache of another core.
  std::array<std::string, function_count> function_texts;
  std::array<trace::NameId, function_count> functions;  ///< In the recorder of this repetition.
  nanoseconds begin{};
  PlayThread* sends_to = nullptr;  ///< The thread that tests sends.
  PlayThread* receives_to = nullptr;

  Signals signals;
  std::vector<std::atomic<std::uint32_t>> at;  ///< Next operation of each stream.
  MessageOrders orders;
};

}  // namespace plait::replay::detail
