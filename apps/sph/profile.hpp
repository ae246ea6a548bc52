// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sph/exact/riemann.hpp"
#include "sph/problem.hpp"

namespace sph {

/// What is at one place of a problem: along the tube of a shock tube, from the axis of a vortex, from the centre of
/// all others. The speed is along that direction, but around the axis in a vortex.
struct ProfileRow {
  double place = 0;  ///< Mean of the particles'.
  double particles = 0;
  exact::State mean;
  double density_scatter = 0;  ///< Root mean square.
  std::optional<exact::State> exact;
};

/// Sums for the profile, which add up over ranks; nothing for problems without one.
[[nodiscard]] std::vector<double> profile_sums(const Problem& problem, const Gas& gas);
/// The profile, inwards to outwards, of those sums over all ranks, beside the exact solution where it is known.
[[nodiscard]] std::vector<ProfileRow> make_profile(const Problem& problem, std::span<const double> sums, double time);

}  // namespace sph
