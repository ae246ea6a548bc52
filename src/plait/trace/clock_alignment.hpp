// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/base/clock.hpp"
#include "plait/trace/event.hpp"

namespace plait::trace {

/// The result of one exchange: this rank sent at `sent` and had the answer at `received`, by its own
/// time; rank 0 read its clock at `remote` in between. As if the way there took as long as the way
/// back; the error is at most half the round trip. Mills, "Internet time synchronization", 1991.
[[nodiscard]] ClockEvent clock_exchange(nanoseconds sent, nanoseconds remote, nanoseconds received) noexcept;

/// Maps a rank's time to rank 0's: time + offset + drift * (time - anchor).
struct ClockLine {
  nanoseconds offset{};
  nanoseconds anchor{};
  double drift = 0;
  /// Times are off by at most this near the exchanges used; 0 when there were none.
  nanoseconds error{};

  [[nodiscard]] nanoseconds to_rank_zero(nanoseconds time) const noexcept;
};

/// The line through the best exchange of the start and the best of the end (docs/reference/trace-format.md).
///
/// Exchanges up to the middle of the time that they cover are of the start. Where they cover less
/// than half of the time up to `last_event`, as in a killed run, or the drift would exceed one in a
/// thousand, the best exchange alone gives a constant offset. With none it is `wall_clock_offset`:
/// this rank's wall-clock time at its time 0 less that of rank 0.
[[nodiscard]] ClockLine fit_clock(std::span<const ClockEvent> exchanges,
                                  nanoseconds last_event,
                                  nanoseconds wall_clock_offset) noexcept;

}  // namespace plait::trace
