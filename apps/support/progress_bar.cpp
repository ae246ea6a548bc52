// SPDX-License-Identifier: Apache-2.0
#include "support/progress_bar.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace app {

namespace {

constexpr std::size_t width = 30;
constexpr auto interval = std::chrono::milliseconds{100};

/// MPI launchers put a pseudo-terminal of no size between a program and the user. Only `plait run` knows whether the
/// user has a terminal, and sets PLAIT_PROGRESS_BAR.
bool is_seen_by_a_person() {
  if (const char* const setting = std::getenv("PLAIT_PROGRESS_BAR")) {
    return std::string_view{setting} == "1";
  }
  winsize size{};
  return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
}

/// "1 h 02 min", "3 min 05 s", "7 s".
std::string describe_duration(std::chrono::duration<double> duration) {
  const auto seconds = static_cast<std::uint64_t>(std::max(0.0, duration.count()) + 0.5);
  if (seconds < 60) {
    return fmt::format("{} s", seconds);
  }
  if (seconds < 3600) {
    return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  }
  return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
}

}  // namespace

ProgressBar::ProgressBar(std::uint64_t total, bool is_shown, std::string unit)
    : total_{total}, unit_{std::move(unit)}, is_shown_{is_shown && total > 0 && is_seen_by_a_person()} {}

void ProgressBar::update(std::uint64_t done) {
  const auto now = Clock::now();
  if (!is_shown_ || done == 0 || (now - last_ < interval && done < total_)) {
    return;
  }
  last_ = now;
  is_drawn_ = true;
  const std::chrono::duration<double> spent = now - start_;
  const double rate = static_cast<double>(done) / spent.count();
  const std::size_t filled = width * done / total_;
  fmt::print("\r[{}{}] {}/{} {}, {:.3g} {}/s, {} left\033[K",
             std::string(filled, '#'),
             std::string(width - filled, '.'),
             done,
             total_,
             unit_,
             rate,
             unit_,
             describe_duration(std::chrono::duration<double>{static_cast<double>(total_ - done) / rate}));
  std::fflush(stdout);
}

void ProgressBar::clear() {
  if (is_drawn_) {
    fmt::print("\r\033[K");
    std::fflush(stdout);
    is_drawn_ = false;
  }
}

}  // namespace app
