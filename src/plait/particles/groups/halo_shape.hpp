// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/groups/moments.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// The axes of a selection over its longest one, from the second moments: those of a homogeneous ellipsoid.
struct AxisRatios {
  double intermediate = 1;
  double shortest = 1;
};

/// Computes the axis ratios. Both are 1 for a selection without extent.
[[nodiscard]] AxisRatios axis_ratios(const SelectionMoments& moments);

/// The spin parameter lambda' = J / (sqrt(2) M V R), with the circular velocity V = sqrt(G M / R) at the radius R that
/// the program chooses, such as the virial radius. `constant` is G, in the units of the moments. Expects: `radius` and
/// the mass are positive.
/// Source: Bullock et al., Astrophys. J. 555, 240, 2001, equation 5.
[[nodiscard]] double spin_parameter(const SelectionMoments& moments, double radius, double constant);

/// Finds the distance from the centre of each selection within which half of its mass is, that of a particle included.
/// `labels` has one for each particle of this rank's store, and `selections` are what `measure_moments` or
/// `friends_of_friends` returned on this rank for them; results are in their order. Particles with other labels are
/// left out. Collective. Throws: `Error` with `bad_argument` if there is not one label for each particle, on all ranks.
/// Cost: O(members log members); a row of 40 bytes for each member goes to the rank of its selection.
[[nodiscard]] std::vector<double> half_mass_radii(comm::Endpoint& messages,
                                                  const Particles& particles,
                                                  const MomentsOptions& options,
                                                  std::span<const std::uint64_t> labels,
                                                  std::span<const LabelledMoments> selections);

}  // namespace plait::particles
