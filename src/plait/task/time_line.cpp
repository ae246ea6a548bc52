// SPDX-License-Identifier: Apache-2.0
#include "plait/task/time_line.hpp"

#include <cmath>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::task {

static_assert(line_ticks == Ticks{1} << time_bin_count);

TimeLine::TimeLine(double begin, double end)
    : begin_{begin}, end_{end}, tick_{std::ldexp(end - begin, -static_cast<int>(time_bin_count))} {
  if (!std::isnormal(tick_) || tick_ < 0) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("a time line cannot go from {} to {}: give a begin before the end", begin, end)};
  }
}

TimeBin TimeLine::bin_for(double step) const {
  if (!(step >= duration(ticks_of(shortest_bin)))) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("a time step of {} is shorter than the shortest of this time line, {}: look for the object "
                            "that asks for it, or make the line shorter",
                            step,
                            duration(ticks_of(shortest_bin)))};
  }
  // Division rounds, and may round up to the next power of two; the lengths of steps are exact.
  const double ticks = std::min(step / tick_, static_cast<double>(line_ticks));
  TimeBin bin{static_cast<std::uint8_t>(std::ilogb(ticks) - 1)};
  if (duration(ticks_of(bin)) > step) {
    bin = TimeBin{static_cast<std::uint8_t>(bin.value() - 1)};
  }
  return bin;
}

}  // namespace plait::task
