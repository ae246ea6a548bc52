// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <fmt/format.h>

#include "plait/base/clock.hpp"

namespace plait::replay::program {

/// A time with a unit that suits it, as in "1.250 ms".
[[nodiscard]] inline std::string text_of(nanoseconds time) {
  const auto ns = static_cast<double>(time.count());
  if (ns >= 1e9) {
    return fmt::format("{:.3f} s", ns * 1e-9);
  }
  return ns >= 1e6 ? fmt::format("{:.3f} ms", ns * 1e-6) : fmt::format("{:.2f} us", ns * 1e-3);
}

/// The change of a time, as in "-12.5 %"; empty when there was none before.
[[nodiscard]] inline std::string change(nanoseconds now, nanoseconds before) {
  if (before.count() == 0) {
    return "";
  }
  const double part = static_cast<double>((now - before).count()) / static_cast<double>(before.count());
  return fmt::format("{:+.1f} %", 100 * part);
}

}  // namespace plait::replay::program
