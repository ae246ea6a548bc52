// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "sph/exact/riemann.hpp"
#include "sph/problem.hpp"

// What a run is measured by: what it must keep, and the exact solutions of problems. Functions called `..._sums` return
// sums over particles, which add up over ranks.

namespace sph {

/// What the laws of motion keep; sums over particles.
struct Totals {
  plait::particles::Conserved kept;
  double thermal = 0;
  double speed_sum = 0;  ///< Of m |v|, to compare the momentum with.

  [[nodiscard]] double energy() const { return kept.kinetic + thermal + kept.potential; }
};
static_assert(std::is_trivially_copyable_v<Totals>, "travels in messages");
[[nodiscard]] Totals totals_of(const Particles& store, const GasFields& fields);

/// One thing that a run's state has in common with the exact solution, or not.
struct Finding {
  std::string what;  ///< Such as "L1 error of the density".
  double error = 0;
  double limit = 0;
  [[nodiscard]] bool is_met() const { return error <= limit; }
};
/// What every run must keep.
[[nodiscard]] std::vector<Finding> judge_totals(const Problem& problem, const Totals& begin, const Totals& now);

/// What is to be known of all particles to judge them.
[[nodiscard]] std::vector<double> answer_sums(const Problem& problem, const Gas& gas, double time);
/// How far particles are from the exact solution of the problem at `time`, and how far they may be. `sums` are
/// those of `answer_sums` over all ranks. Nothing for problems without a known answer.
[[nodiscard]] std::vector<Finding> judge(const Problem& problem, std::span<const double> sums, double time);

/// What is at one place of a problem: along the tube of a shock tube, from the axis of a vortex, from the centre of
/// all others. The speed is along that direction, but around the axis in a vortex.
struct ProfileRow {
  double place = 0;  ///< Mean of the particles'.
  double particles = 0;
  exact::State mean;
  double density_scatter = 0;  ///< Root mean square.
  std::optional<exact::State> exact;
};
/// Sums for the profile; nothing for problems without one.
[[nodiscard]] std::vector<double> profile_sums(const Problem& problem, const Gas& gas);
/// The profile, inwards to outwards, of those sums over all ranks, beside the exact solution where it is known.
[[nodiscard]] std::vector<ProfileRow> make_profile(const Problem& problem, std::span<const double> sums, double time);

}  // namespace sph
