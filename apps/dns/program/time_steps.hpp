// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "dns/program/settings.hpp"

namespace dns {

/// The lengths of the steps. The same on all ranks for the same arguments.
class TimeSteps {
 public:
  /// Throws: `plait::Error` for settings that make no sense.
  explicit TimeSteps(const RunSettings& settings);

  struct Choice {
    double dt = 0;
    double courant = 0;
    std::string warning;  ///< To be printed, if not empty.
  };
  /// The step after `step` others, at `time`. `rate`: the largest sum over axes of |u_a| / h_a.
  /// Throws: `plait::Error` when the given step is too long and the run is to stop then, or velocities are no numbers.
  [[nodiscard]] Choice next(std::uint64_t step, double time, double rate);

  [[nodiscard]] bool is_over(std::uint64_t step, double time) const;
  /// Of the way to the end, 0 to 1.
  [[nodiscard]] double done(std::uint64_t step, double time) const;
  [[nodiscard]] std::string describe() const;

 private:
  std::uint64_t steps_;
  double time_end_;
  double fixed_;    ///< 0: as long as the flow allows.
  double longest_;  ///< When it is; infinite without a given one.
  double courant_;  ///< Aimed at.
  double limit_;
  OnCourant on_courant_;
  std::uint64_t violations_ = 0;
};

}  // namespace dns
