// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plait::replay::calibrating {

/// Nanoseconds of the machine's monotonic clock.
[[nodiscard]] double now_ns() noexcept;

/// Computing in registers whose length is a number of steps, so that it takes longer when others use its core.
class Computation {
 public:
  /// Measures the speed of this core, which must be free, as the fastest of several trials. Takes some milliseconds.
  void measure();

  /// Computes for `time_ns`, if the core is free. Expects: `measure` was called.
  void run(double time_ns) const;
  /// Likewise; returns how much longer it took.
  [[nodiscard]] double disturbance(double time_ns) const;

 private:
  double steps_per_ns_ = 1;
};

}  // namespace plait::replay::calibrating
