// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/stopwatch.hpp"

namespace bench {

/// Computes `count` steps that depend on each other, in registers only. It is a count, not a time: computing until a
/// deadline would hide how much processor time others took.
inline void compute(std::uint64_t count) {
  std::uint64_t state = count | 1U;
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(state));  // keeps the compiler from leaving steps out
  }
}

/// Returns how many steps of `compute` take `seconds` on an otherwise idle core. Measures it, as the fastest of 10
/// trials.
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

/// Threads that compute during the lifetime of this object.
class ComputingThreads {
 public:
  explicit ComputingThreads(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          compute(10'000);
        }
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace bench
