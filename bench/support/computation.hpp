// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "support/stopwatch.hpp"

namespace bench {

/// Computes `count` steps that depend on each other, in registers only. A count and not a time: computing until a time
/// has come would hide how much of the processor was taken away meanwhile.
inline void compute(std::uint64_t count) {
  std::uint64_t state = count | 1U;
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(state));  // keeps the compiler from leaving steps out
  }
}

/// Steps of `compute` that take so long on a core that does nothing else; measured now, the fastest of some trials.
[[nodiscard]] inline std::uint64_t computation_of(double seconds) {
  constexpr std::uint64_t trial_steps = 2'000'000;
  double fastest = std::numeric_limits<double>::max();
  for (int trial = 0; trial < 10; ++trial) {
    const Stopwatch watch;
    compute(trial_steps);
    fastest = std::min(fastest, watch.seconds());
  }
  return static_cast<std::uint64_t>(seconds / fastest * trial_steps);
}

/// Threads that compute as long as this lives.
class ComputingThreads {
 public:
  explicit ComputingThreads(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (!is_over_.load(std::memory_order_relaxed)) {  // orders nothing
          compute(10'000);
        }
      });
    }
  }
  ComputingThreads(const ComputingThreads&) = delete;
  ComputingThreads& operator=(const ComputingThreads&) = delete;
  ~ComputingThreads() {
    is_over_.store(true, std::memory_order_relaxed);  // orders nothing
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace bench
