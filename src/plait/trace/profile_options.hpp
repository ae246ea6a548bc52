// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"

namespace plait::trace {

/// Which parts of a run are recorded event by event.
struct WindowOptions {
  /// A window of `length` begins every `period`, at time 0 the first; 0: no such windows.
  nanoseconds length{};
  nanoseconds period{};
  /// A window begins with each `every`-th begin of this region, and ends with the next end of `to`. Empty: none.
  std::string from;
  std::string to;
  std::uint32_t every = 1;
};

/// Reads "10s/1000s" (units: ms, s, min, h), "region:NAME", "region:FROM..TO", the latter two with "/EVERY". Error:
/// `bad_argument`, with what is wrong and what is possible.
[[nodiscard]] Result<WindowOptions> read_window_options(std::string_view text);

/// Counting in the place of recording each event.
struct ProfileOptions {
  /// In these, each event is recorded, too.
  std::optional<WindowOptions> windows;

  /// Reads PLAIT_RECORD_PROFILE and PLAIT_RECORD_WINDOW. Nothing if no profile is requested. Throws: `Error` with
  /// `bad_argument` for a window that cannot be read.
  [[nodiscard]] static std::optional<ProfileOptions> from_environment();
};

}  // namespace plait::trace
