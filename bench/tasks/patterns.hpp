// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tasks {

/// The dependencies of the empty tasks of a case.
enum class Pattern {
  independent,
  chain,      ///< Each task after the one before it.
  wavefront,  ///< Each cell of a square after its left and its upper neighbour.
  fib,        ///< Each call of the recursive Fibonacci function is a task, whose two children are joined.
};
inline constexpr std::array patterns{Pattern::independent, Pattern::chain, Pattern::wavefront, Pattern::fib};

/// Whether the measured time includes building the graph.
enum class Way {
  rerun,   ///< The graph exists and is run again.
  built,   ///< The graph is built, run once, and destroyed.
  either,  ///< There is no graph: tasks are created and run each time.
};

inline constexpr std::size_t list_length = 20'000;
inline constexpr std::size_t side_length = 256;
inline constexpr int fib_argument = 24;
inline constexpr std::uint64_t fib_value = 46'368;

[[nodiscard]] inline std::string name_of(Pattern pattern) {
  constexpr std::array names{"independent", "chain", "wavefront", "fib"};
  return names[static_cast<std::size_t>(pattern)];
}
[[nodiscard]] inline std::string name_of(Way way) {
  constexpr std::array names{"re-run", "built and run", "either"};
  return names[static_cast<std::size_t>(way)];
}

[[nodiscard]] constexpr std::size_t task_count(Pattern pattern) {
  switch (pattern) {
    case Pattern::wavefront:
      return side_length * side_length;
    case Pattern::fib:
      return 150'049;  // calls: 2 fib(n + 1) - 1
    default:
      return list_length;
  }
}

/// Calls `visit(earlier)` for each direct predecessor of `task`. Not for `fib`.
template <class Visit>
constexpr void for_each_before(Pattern pattern, std::size_t task, const Visit& visit) {
  const std::size_t width = pattern == Pattern::wavefront ? side_length : 1;
  if (task % width != 0) {
    visit(task - 1);
  }
  if (pattern != Pattern::independent && task >= width) {
    visit(task - width);
  }
}

/// Checks, in runs that are not timed, that each task ran once and after its predecessors. Threads: any.
class Witness {
 public:
  void begin(Pattern pattern) {
    pattern_ = pattern;
    ran_at_ = std::vector<std::uint32_t>(task_count(pattern));
    ran_count_ = 0;
    result_ = 0;
    is_watching_ = true;
  }
  /// Every task calls this.
  void ran(std::size_t task) noexcept {
    if (is_watching_) [[unlikely]] {
      ran_at_[task] = ran_count_.fetch_add(1) + 1;
    }
  }
  /// The result of `fib`.
  void result(std::uint64_t value) noexcept { result_ = value; }

  /// Whether all tasks since `begin` ran once and in order.
  [[nodiscard]] bool end() {
    is_watching_ = false;
    if (pattern_ == Pattern::fib) {
      return result_ == fib_value;
    }
    bool is_in_order = true;
    for (std::size_t task = 0; task < ran_at_.size(); ++task) {
      is_in_order = is_in_order && ran_at_[task] != 0;
      for_each_before(
          pattern_, task, [&](std::size_t earlier) { is_in_order = is_in_order && ran_at_[task] > ran_at_[earlier]; });
    }
    return is_in_order && ran_count_ == ran_at_.size();
  }

 private:
  bool is_watching_ = false;
  Pattern pattern_ = Pattern::independent;
  std::vector<std::uint32_t> ran_at_;
  std::atomic<std::uint32_t> ran_count_ = 0;
  std::uint64_t result_ = 0;
};

/// The number of neighbours that each cell of the wavefront still waits for, for peers that count dependencies
/// themselves.
class WavefrontCounters {
 public:
  WavefrontCounters() : waiting_(task_count(Pattern::wavefront)) { reset(); }
  void reset() {
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const int neighbours = (i % side_length != 0 ? 1 : 0) + (i >= side_length ? 1 : 0);
      waiting_[i].store(static_cast<std::uint8_t>(neighbours), std::memory_order_relaxed);  // no task runs
    }
  }
  /// Calls `start(next)` for each cell whose last predecessor is `cell`.
  template <class Start>
  void ended(std::size_t cell, const Start& start) {
    if (cell % side_length + 1 < side_length) {
      count_down(cell + 1, start);
    }
    if (cell + side_length < waiting_.size()) {
      count_down(cell + side_length, start);
    }
  }

 private:
  template <class Start>
  void count_down(std::size_t cell, const Start& start) {
    if (waiting_[cell].fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with that of the other neighbour
      start(cell);
    }
  }

  std::vector<std::atomic<std::uint8_t>> waiting_;
};

}  // namespace tasks
