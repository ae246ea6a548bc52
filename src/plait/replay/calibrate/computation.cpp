// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/calibrate/computation.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "plait/base/clock.hpp"

namespace plait::replay::calibrating {
namespace {

/// Steps that depend on each other.
void do_steps(std::uint64_t count) {
  std::uint64_t state = count | 1U;
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(state));  // keeps the compiler from leaving steps out
  }
}

}  // namespace

double now_ns() noexcept {
  return static_cast<double>(SteadyClock{}.now().count());
}

void Computation::measure() {
  constexpr std::uint64_t trial_steps = 1'000'000;
  double fastest = std::numeric_limits<double>::max();
  for (int trial = 0; trial < 10; ++trial) {
    const double begin = now_ns();
    do_steps(trial_steps);
    fastest = std::min(fastest, now_ns() - begin);
  }
  steps_per_ns_ = static_cast<double>(trial_steps) / fastest;
}

void Computation::run(double time_ns) const {
  do_steps(static_cast<std::uint64_t>(std::max(0.0, time_ns) * steps_per_ns_));
}

double Computation::disturbance(double time_ns) const {
  const double begin = now_ns();
  run(time_ns);
  return now_ns() - begin - time_ns;
}

}  // namespace plait::replay::calibrating
