// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <utility>
#include <vector>

namespace bench {

/// Time since its construction.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  [[nodiscard]] double microseconds() const { return seconds() * 1e6; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Seconds of processor time of all threads of this process, or what `clock` counts. Excludes the time that other
/// processes take.
[[nodiscard]] inline double processor_seconds(clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The value that `part` (0 to 1) of all values do not exceed: 0.5 is the median, 0.99 the 99th percentile. 0 without
/// values.
[[nodiscard]] inline double quantile(std::vector<double> values, double part) {
  if (values.empty()) {
    return 0;
  }
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::nth_element(values, values.begin() + at);
  return values[static_cast<std::size_t>(at)];
}
[[nodiscard]] inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

}  // namespace bench
