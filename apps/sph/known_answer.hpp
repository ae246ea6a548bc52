// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sph/diagnostics.hpp"
#include "sph/problem.hpp"

namespace sph {

/// One thing that a run's state has in common with the exact solution, or not.
struct Finding {
  std::string what;  ///< Such as "L1 error of the density".
  double error = 0;
  double limit = 0;
  [[nodiscard]] bool is_met() const { return error <= limit; }
};

/// What is to be known of all particles to judge them: sums, which add up over ranks.
[[nodiscard]] std::vector<double> answer_sums(const Problem& problem, const Gas& gas, double time);

/// How far particles are from the exact solution of the problem at `time`, and how far they may be. `sums` are
/// those of `answer_sums` over all ranks. Nothing for problems without a known answer.
[[nodiscard]] std::vector<Finding> judge(const Problem& problem, std::span<const double> sums, double time);

/// What every run must keep.
[[nodiscard]] std::vector<Finding> judge_totals(const Problem& problem, const Totals& begin, const Totals& now);

}  // namespace sph
