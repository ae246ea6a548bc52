// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace app {

/// A line on a terminal with the progress of a run, its speed and the time left. It prints nothing when standard output
/// is not a terminal.
class ProgressBar {
 public:
  /// `unit`: the name of the steps. This process shows them if `is_shown`.
  ProgressBar(std::uint64_t total, bool is_shown, std::string unit);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { clear(); }

  /// Whether it is drawn.
  [[nodiscard]] bool is_shown() const noexcept { return is_shown_; }
  /// After `done` steps. Draws ten times a second at most.
  void update(std::uint64_t done);
  /// Removes the line, for other output.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::uint64_t total_;
  std::string unit_;
  bool is_shown_;
  bool is_drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_{};
};

}  // namespace app
