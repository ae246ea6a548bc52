// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "plait/base/id.hpp"

namespace plait::task {

/// A time, or a duration, in the smallest units of the time line.
using Ticks = std::uint64_t;

/// The length of an object's time steps: 2^(b+1) ticks in bin b. Steps begin at multiples of their length, so that
/// steps of a bin nest in those of the next, and half a step is a whole number of ticks.
using TimeBin = Id<struct TimeBinTag, std::uint8_t>;

inline constexpr std::uint8_t time_bin_count = 56;
inline constexpr TimeBin shortest_bin{0};
inline constexpr TimeBin longest_bin{time_bin_count - 1};  // one step is the whole line
/// The most bins by which steps of neighbours may differ: a factor of 4 in length (Saitoh and Makino, "A necessary
/// condition for individual time steps in SPH simulations", 2009).
inline constexpr std::uint8_t neighbour_bins_apart_max = 2;

[[nodiscard]] constexpr Ticks ticks_of(TimeBin bin) {
  return Ticks{2} << bin.value();
}
inline constexpr Ticks line_ticks = ticks_of(longest_bin);

/// Returns whether a step of `bin` ends, and the next begins, at `now`.
[[nodiscard]] constexpr bool is_active(TimeBin bin, Ticks now) {
  return (now & (ticks_of(bin) - 1)) == 0;
}

/// Returns the longest bin that is active at `now`, as all shorter ones are; invalid if there is none.
[[nodiscard]] constexpr TimeBin longest_active(Ticks now) {
  if (now == 0) {
    return longest_bin;
  }
  const int zeros = std::countr_zero(now);
  return zeros == 0 ? TimeBin{} : std::min(TimeBin{static_cast<std::uint8_t>(zeros - 1)}, longest_bin);
}

/// Returns the next time after `now` at which `bin` is active.
[[nodiscard]] constexpr Ticks next_active(TimeBin bin, Ticks now) {
  return (now | (ticks_of(bin) - 1)) + 1;
}

/// Returns `own`, or the longest bin that a neighbour in bin `theirs` allows.
[[nodiscard]] constexpr TimeBin limited_by(TimeBin own, TimeBin theirs) {
  return std::min(own, TimeBin{static_cast<std::uint8_t>(theirs.value() + neighbour_bins_apart_max)});
}

/// Maps ticks to the program's time: `line_ticks` of them span `begin` to `end`.
///
/// Threads: any.
class TimeLine {
 public:
  /// Throws: `Error` with `bad_argument` unless `begin` is before `end` and both are finite.
  TimeLine(double begin, double end);

  [[nodiscard]] double begin() const noexcept { return begin_; }
  [[nodiscard]] double end() const noexcept { return end_; }
  [[nodiscard]] double time_at(Ticks now) const noexcept { return begin_ + duration(now); }
  /// Exact for powers of two, hence for lengths of steps.
  [[nodiscard]] double duration(Ticks length) const noexcept { return static_cast<double>(length) * tick_; }

  /// Returns the longest bin whose steps are at most `step`. Throws: `Error` with `bad_argument` when `step` is NaN, or
  /// shorter than the shortest bin's.
  [[nodiscard]] TimeBin bin_for(double step) const;

 private:
  double begin_;
  double end_;
  double tick_;
};

}  // namespace plait::task
