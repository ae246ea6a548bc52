// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace plait::replay::predicting {

/// Virtual time: picoseconds from the beginning, so that a byte's share of a fast link is not rounded away.
using Time = std::int64_t;
inline constexpr Time never = std::numeric_limits<Time>::max();

[[nodiscard]] constexpr Time to_time(double ns) noexcept {
  return static_cast<Time>(ns * 1000 + 0.5);
}

/// The kind of an event; of events at one time, the smaller comes first.
enum class EventKind : std::uint32_t { arrival, port, flow, request, answer, tick, helper, stream, release, worker };

struct Event {
  Time at = 0;
  std::uint64_t what = 0;  ///< Kind, 28 bits of stamp, 32 bits of id. No two events are equal.

  Event() = default;
  Event(Time when, EventKind kind, std::uint32_t id, std::uint32_t stamp = 0) noexcept
      : at{when},
        what{std::uint64_t{static_cast<std::uint32_t>(kind)} << 60U | std::uint64_t{stamp & stamp_mask} << 32U | id} {}

  static constexpr std::uint32_t stamp_mask = 0x0fff'ffff;
  [[nodiscard]] EventKind kind() const noexcept { return static_cast<EventKind>(what >> 60U); }
  [[nodiscard]] std::uint32_t id() const noexcept { return static_cast<std::uint32_t>(what); }
  [[nodiscard]] std::uint32_t stamp() const noexcept { return static_cast<std::uint32_t>(what >> 32U) & stamp_mask; }

  [[nodiscard]] friend bool operator<(const Event& a, const Event& b) noexcept {
    return a.at != b.at ? a.at < b.at : a.what < b.what;
  }
};

/// Events by time: a heap with four children a node, so that a node's children share a cache line.
class EventQueue {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return heap_.empty(); }
  /// `never` when empty.
  [[nodiscard]] Time next_time() const noexcept { return heap_.empty() ? never : heap_.front().at; }

  void push(Event event) {
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!(event < heap_[parent])) {
        break;
      }
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  /// Expects: there is one.
  Event pop() {
    const Event first = heap_.front();
    const Event moved = heap_.back();
    heap_.pop_back();
    const std::size_t count = heap_.size();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < count; child = 4 * hole + 1) {
      std::size_t least = child;
      const std::size_t end = child + 4 < count ? child + 4 : count;
      for (std::size_t other = child + 1; other < end; ++other) {
        least = heap_[other] < heap_[least] ? other : least;
      }
      if (!(heap_[least] < moved)) {
        break;
      }
      heap_[hole] = heap_[least];
      hole = least;
    }
    if (count > 0) {
      heap_[hole] = moved;
    }
    return first;
  }

 private:
  std::vector<Event> heap_;
};

}  // namespace plait::replay::predicting
