// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace bench {

/// A part of what a thread does for each message: with a lock held, or outside of all locks.
struct Section {
  double seconds = 0;
  int lock = -1;  ///< Its number; -1 outside.
};

/// Returns the messages a second of `threads` threads, each on a core of its own, on a virtual clock. Each repeats
/// `sections`; a lock serves threads in the order of their requests, and takes `handover` seconds more when another
/// thread held it last: what it guards must come from another core.
[[nodiscard]] inline double message_rate(const std::vector<Section>& sections, std::size_t threads, double handover) {
  constexpr std::size_t messages_of_a_thread = 2000;
  struct Lock {
    double free_at = 0;
    std::size_t holder = 0;
    bool was_held = false;
  };
  struct Thread {
    std::size_t section = 0;
    std::size_t messages = 0;
  };
  std::vector<Lock> locks(sections.size());
  std::vector<Thread> all(threads);
  using Request = std::pair<double, std::size_t>;  // when, and the thread
  std::priority_queue<Request, std::vector<Request>, std::greater<>> requests;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    requests.emplace(0, thread);
  }
  double end = 0;
  std::size_t messages = 0;
  while (!requests.empty()) {
    auto [now, index] = requests.top();
    requests.pop();
    Thread& thread = all[index];
    const Section& section = sections[thread.section];
    if (section.lock >= 0) {
      Lock& lock = locks[static_cast<std::size_t>(section.lock)];
      now = std::max(now, lock.free_at) + (lock.was_held && lock.holder != index ? handover : 0);
      lock = {now + section.seconds, index, true};
    }
    now += section.seconds;
    if (++thread.section == sections.size()) {
      thread.section = 0;
      ++messages;
      end = std::max(end, now);
      if (++thread.messages == messages_of_a_thread) {
        continue;
      }
    }
    requests.emplace(now, index);
  }
  return static_cast<double>(messages) / end;
}

}  // namespace bench
