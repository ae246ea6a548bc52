// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace pic {

/// Adds the time for which it lives to a sum.
class Timer {
 public:
  using Seconds = std::chrono::duration<double>;
  explicit Timer(Seconds& sum) : sum_{sum} {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { sum_ += std::chrono::steady_clock::now() - start_; }

 private:
  Seconds& sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace pic
