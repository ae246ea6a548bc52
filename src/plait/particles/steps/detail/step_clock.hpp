// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <functional>

#include "plait/particles/steps/integrator.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles::detail {

/// Returns a duration that a program's function gave for two times of steps. `what` names the function. Throws: `Error`
/// with `bad_argument` if it is not finite, or of another sign than the difference of the times.
double checked_duration(const char* what, double duration, double from, double to);

/// The durations of drifts and kicks between two times of a line, by an integrator. Throws: as `checked_duration`.
/// Threads: any.
class StepClock {
 public:
  /// Borrows the integrator.
  StepClock(const task::TimeLine& line, const Integrator& integrator) : line_{line}, integrator_{integrator} {}

  [[nodiscard]] const task::TimeLine& line() const noexcept { return line_; }
  [[nodiscard]] double drift(task::Ticks from, task::Ticks to) const {
    return integrator_.drift_duration ? ask("drift_duration", integrator_.drift_duration, from, to)
                                      : line_.duration(to - from);
  }
  [[nodiscard]] double kick(task::Ticks from, task::Ticks to) const {
    return integrator_.kick_duration ? ask("kick_duration", integrator_.kick_duration, from, to)
                                     : line_.duration(to - from);
  }

 private:
  [[nodiscard]] double ask(const char* what,
                           const std::function<double(double, double)>& function,
                           task::Ticks from,
                           task::Ticks to) const {
    const double begin = line_.time_at(from);
    const double end = line_.time_at(to);
    return checked_duration(what, function(begin, end), begin, end);
  }

  const task::TimeLine line_;
  const Integrator& integrator_;
};

/// The durations of a clock for one worker: remembers the last one of each length, as many particles and cells have the
/// same.
class DurationMemory {
 public:
  [[nodiscard]] double drift(const StepClock& clock, task::Ticks from, task::Ticks to) {
    Known& known = drifts_[place_of(from, to)];
    if (known.from != from || known.to != to) {
      known = {from, to, clock.drift(from, to)};
    }
    return known.duration;
  }
  [[nodiscard]] double kick(const StepClock& clock, task::Ticks from, task::Ticks to) {
    Known& known = kicks_[place_of(from, to)];
    if (known.from != from || known.to != to) {
      known = {from, to, clock.kick(from, to)};
    }
    return known.duration;
  }

 private:
  [[nodiscard]] static std::size_t place_of(task::Ticks from, task::Ticks to) {
    return static_cast<std::size_t>(std::bit_width(to - from));
  }

  struct Known {
    task::Ticks from = 0;
    task::Ticks to = 0;
    double duration = 0;  ///< 0 from a time to itself.
  };
  std::array<Known, 65> drifts_{};  ///< By the bits of the length.
  std::array<Known, 65> kicks_{};
};

}  // namespace plait::particles::detail
