// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "dns/program/settings.hpp"

namespace dns {

/// Chooses the lengths of steps; the same on all ranks for the same arguments.
class TimeSteps {
 public:
  /// Throws: `plait::Error` for invalid settings.
  explicit TimeSteps(const RunSettings& settings);

  struct Choice {
    double dt = 0;
    double courant = 0;
    std::string warning;  ///< To be printed, if not empty.
  };
  /// The next step, after `step` steps, at `time`. `rate`: the largest sum over axes of |u_a| / h_a.
  /// Throws: `plait::Error` if the given step is too long and the policy is `stop`, or a velocity is not finite.
  [[nodiscard]] Choice next(std::uint64_t step, double time, double rate);

  [[nodiscard]] bool is_over(std::uint64_t step, double time) const;
  /// The completed fraction of the run, 0 to 1.
  [[nodiscard]] double done(std::uint64_t step, double time) const;
  [[nodiscard]] std::string describe() const;

 private:
  std::uint64_t steps_;
  double time_end_;
  double fixed_;    ///< 0: as long as the flow allows.
  double longest_;  ///< Limits such steps; infinite without --time-step.
  double courant_;  ///< The target of such steps.
  double limit_;
  OnCourant on_courant_;
  std::uint64_t violations_ = 0;
};

}  // namespace dns
