// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>

#include "plait/particles/steps/integrator.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles::detail {

/// The durations of drifts and kicks between two times of a line, by an integrator. Threads: any.
class StepClock {
 public:
  /// Borrows the integrator.
  StepClock(const task::TimeLine& line, const Integrator& integrator) : line_{line}, integrator_{integrator} {}

  [[nodiscard]] const task::TimeLine& line() const noexcept { return line_; }
  [[nodiscard]] double drift(task::Ticks from, task::Ticks to) const {
    return integrator_.drift_duration ? integrator_.drift_duration(line_.time_at(from), line_.time_at(to))
                                      : line_.duration(to - from);
  }
  [[nodiscard]] double kick(task::Ticks from, task::Ticks to) const {
    return integrator_.kick_duration ? integrator_.kick_duration(line_.time_at(from), line_.time_at(to))
                                     : line_.duration(to - from);
  }

 private:
  const task::TimeLine line_;
  const Integrator& integrator_;
};

/// The kicks of a clock by one worker: remembers the last one of each bin, as many particles have the same.
class KickMemory {
 public:
  [[nodiscard]] double duration(const StepClock& clock, task::Ticks from, task::Ticks to) {
    Known& known = known_[static_cast<std::size_t>(std::bit_width(to - from))];
    if (known.from != from || known.to != to) {
      known = {from, to, clock.kick(from, to)};
    }
    return known.duration;
  }

 private:
  struct Known {
    task::Ticks from = 0;
    task::Ticks to = 0;
    double duration = 0;  ///< 0 from a time to itself.
  };
  std::array<Known, 65> known_{};  ///< By the bits of the length.
};

}  // namespace plait::particles::detail
