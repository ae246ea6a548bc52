// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/base/clock.hpp"
#include "plait/trace/event.hpp"

namespace plait::trace {

/// The result of one exchange: this rank sent at `sent` and received the answer at `received`, by its own clock; rank 0
/// read its clock at `remote` in between. Assumes equal latencies; the error is at most half the round trip. Mills,
/// "Internet time synchronization", 1991.
[[nodiscard]] ClockEvent clock_exchange(nanoseconds sent, nanoseconds remote, nanoseconds received) noexcept;

/// Maps a rank's time to rank 0's: time + offset + drift * (time - anchor).
struct ClockLine {
  nanoseconds offset{};
  nanoseconds anchor{};
  double drift = 0;
  /// Error bound near the exchanges used; 0 when there were none.
  nanoseconds error{};

  [[nodiscard]] nanoseconds to_rank_zero(nanoseconds time) const noexcept;
};

/// The line through the best exchange of each half of the time that they cover (docs/reference/trace-format.md).
///
/// Where they cover less than half of the time up to `last_event`, as in a killed run, or the drift would exceed 1e-3,
/// the best exchange alone gives a constant offset. Without exchanges the offset is `wall_clock_offset`: this rank's
/// wall-clock time at its time 0 minus that of rank 0.
[[nodiscard]] ClockLine fit_clock(std::span<const ClockEvent> exchanges,
                                  nanoseconds last_event,
                                  nanoseconds wall_clock_offset) noexcept;

}  // namespace plait::trace
