// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace bench {

/// A part of what a thread does for each message: with the lock held or not.
struct Section {
  double seconds = 0;
  bool is_locked = false;
};

/// What a lock costs that several threads take, in seconds.
struct LockCosts {
  double handover = 0;   ///< Of a thread that takes it after another one: what it guards comes from another core.
  double attempt = 0;    ///< Of the holder, whose line an attempt takes.
  double pause_min = 1;  ///< Between a thread's attempts, above 0; pauses double,
  double pause_max = 1;  ///< up to this one.
};

/// Returns the messages a second of `threads` threads, each on a core of its own, on a virtual clock. Each repeats
/// `sections`. A thread that finds the lock taken pauses and tries again.
[[nodiscard]] inline double message_rate(const std::vector<Section>& sections,
                                         std::size_t threads,
                                         const LockCosts& costs) {
  constexpr std::size_t messages_of_a_thread = 2000;
  struct Thread {
    std::size_t section = 0;
    std::size_t messages = 0;
    double pause = 0;
  };
  std::vector<Thread> all(threads, {.pause = costs.pause_min});
  using Event = std::pair<double, std::size_t>;  // when, and the thread
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    events.emplace(0, thread);
  }
  double free_at = 0;
  std::size_t holder = 0;
  double end = 0;
  while (!events.empty()) {
    auto [now, index] = events.top();
    events.pop();
    Thread& thread = all[index];
    const Section& section = sections[thread.section];
    if (section.is_locked) {
      if (holder == index) {
        now = std::max(now, free_at);  // attempts have delayed its last section
      } else if (now < free_at) {
        free_at += costs.attempt;
        events.emplace(now + thread.pause, index);
        thread.pause = std::min(2 * thread.pause, costs.pause_max);
        continue;
      }
      now += holder != index ? costs.handover : 0;
      holder = index;
      thread.pause = costs.pause_min;
      free_at = now + section.seconds;
    }
    now += section.seconds;
    if (++thread.section == sections.size()) {
      thread.section = 0;
      end = std::max(end, now);
      if (++thread.messages == messages_of_a_thread) {
        continue;
      }
    }
    events.emplace(now, index);
  }
  return static_cast<double>(threads * messages_of_a_thread) / end;
}

/// Returns the handover, in whole cache lines of `line` seconds each, with which `threads` threads come closest to
/// this rate.
[[nodiscard]] inline double handover_of(
    const std::vector<Section>& sections, std::size_t threads, LockCosts costs, double rate, double line) {
  constexpr int lines_max = 64;
  double closest = 0;
  double difference = std::numeric_limits<double>::infinity();
  for (int lines = 0; lines <= lines_max; ++lines) {
    costs.handover = lines * line;
    const double here = std::abs(message_rate(sections, threads, costs) - rate);
    if (here < difference) {
      difference = here;
      closest = costs.handover;
    }
  }
  return closest;
}

}  // namespace bench
