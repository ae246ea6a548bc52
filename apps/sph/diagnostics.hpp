// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "sph/exact/riemann.hpp"
#include "sph/problem.hpp"

// Checks of a run: conserved quantities, and exact solutions of problems. Functions called `..._sums` return sums over
// this rank's particles, to be added over ranks.

namespace sph {

/// Conserved quantities: sums over particles.
struct Totals {
  plait::particles::Conserved kept;
  double thermal = 0;
  double speed_sum = 0;  ///< Of m |v|: the scale of errors of the momentum.

  [[nodiscard]] double energy() const { return kept.kinetic + thermal + kept.potential; }
};
static_assert(std::is_trivially_copyable_v<Totals>, "travels in messages");
[[nodiscard]] Totals totals_of(const Particles& store, const GasFields& fields);

/// A hash of ids, positions, velocities and energies that does not depend on the order of particles: a sum, to be added
/// over ranks.
[[nodiscard]] std::uint64_t checksum_of(const Particles& store, const GasFields& fields);

/// An error of a run, and its limit.
struct Finding {
  std::string what;  ///< Such as "L1 error of the density".
  double error = 0;
  double limit = 0;
  [[nodiscard]] bool is_met() const { return error <= limit; }
};
/// Errors of conserved quantities.
[[nodiscard]] std::vector<Finding> judge_totals(const Problem& problem, const Totals& begin, const Totals& now);

/// The sums that `judge` needs.
[[nodiscard]] std::vector<double> answer_sums(const Problem& problem, const Gas& gas, double time);
/// The particles' errors against the exact solution at `time`; none for problems without one. `sums`: of `answer_sums`
/// over all ranks.
[[nodiscard]] std::vector<Finding> judge(const Problem& problem, std::span<const double> sums, double time);

/// The particles around one coordinate of a problem: along a shock tube, the distance from a vortex's axis, the
/// distance from the centre otherwise. The speed is along that direction; in a vortex, around the axis.
struct ProfileRow {
  double place = 0;  ///< Mean coordinate of the particles.
  double particles = 0;
  exact::State mean;
  double density_scatter = 0;  ///< Root mean square.
  std::optional<exact::State> exact;
};
/// The sums that `make_profile` needs; none for problems without a profile.
[[nodiscard]] std::vector<double> profile_sums(const Problem& problem, const Gas& gas);
/// The profile, by increasing coordinate, with the exact solution if known. `sums`: of `profile_sums` over all ranks.
[[nodiscard]] std::vector<ProfileRow> make_profile(const Problem& problem, std::span<const double> sums, double time);

}  // namespace sph
