// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "plait/base/id.hpp"

namespace plait::task {

/// A point of the time line, or a length on it, in its smallest parts.
using Ticks = std::uint64_t;

/// How long the time steps of an object are: those of bin b have 2^(b+1) ticks and begin at multiples of that, so that
/// half a step is a whole number of ticks, and the steps of a bin lie within those of the next.
using TimeBin = Id<struct TimeBinTag, std::uint8_t>;

inline constexpr std::uint8_t time_bin_count = 56;
inline constexpr TimeBin shortest_bin{0};
inline constexpr TimeBin longest_bin{time_bin_count - 1};  // one step is the whole line
/// By how many bins the steps of neighbours may differ: a factor of 4 in length (Saitoh and Makino, "A necessary
/// condition for individual time steps in SPH simulations", 2009: with more, what comes fast meets what is asleep).
inline constexpr std::uint8_t neighbour_bins_apart_max = 2;

[[nodiscard]] constexpr Ticks ticks_of(TimeBin bin) {
  return Ticks{2} << bin.value();
}
inline constexpr Ticks line_ticks = ticks_of(longest_bin);

/// Whether a step of `bin` ends, and the next begins, at `now`.
[[nodiscard]] constexpr bool is_active(TimeBin bin, Ticks now) {
  return (now & (ticks_of(bin) - 1)) == 0;
}

/// The longest bin that is active at `now`; all shorter ones are, too. Nothing when none is.
[[nodiscard]] constexpr TimeBin longest_active(Ticks now) {
  if (now == 0) {
    return longest_bin;
  }
  const int zeros = std::countr_zero(now);
  return zeros == 0 ? TimeBin{} : std::min(TimeBin{static_cast<std::uint8_t>(zeros - 1)}, longest_bin);
}

/// When `bin` is active next, after `now`.
[[nodiscard]] constexpr Ticks next_active(TimeBin bin, Ticks now) {
  return (now | (ticks_of(bin) - 1)) + 1;
}

/// `own`, or the longest bin that is near enough to a neighbour in `theirs`.
[[nodiscard]] constexpr TimeBin limited_by(TimeBin own, TimeBin theirs) {
  return std::min(own, TimeBin{static_cast<std::uint8_t>(theirs.value() + neighbour_bins_apart_max)});
}

/// What the ticks are in the program's own time: `line_ticks` of them from one point in time to another.
///
/// Threads: any.
class TimeLine {
 public:
  /// Throws: `Error` with `bad_argument` unless `begin` is before `end` and both are finite.
  TimeLine(double begin, double end);

  [[nodiscard]] double begin() const noexcept { return begin_; }
  [[nodiscard]] double end() const noexcept { return end_; }
  [[nodiscard]] double time_at(Ticks now) const noexcept { return begin_ + duration(now); }
  /// Exact for powers of two, as the lengths of steps are.
  [[nodiscard]] double duration(Ticks length) const noexcept { return static_cast<double>(length) * tick_; }

  /// The longest bin whose steps are not longer than `step`.
  ///
  /// Throws: `Error` with `bad_argument` when `step` is no number, or shorter than the shortest bin's.
  [[nodiscard]] TimeBin bin_for(double step) const;

 private:
  double begin_;
  double end_;
  double tick_;
};

}  // namespace plait::task
