// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"

namespace plait::particles {

/// Spheres around a centre.
struct DensityProfileOptions {
  Field<double> mass;
  Space space;  ///< Distances are those of nearest images.
  Vector centre;
  /// The radii between shells, ascending and not negative; at least two. Shell i is from radius i to radius i + 1, the
  /// inner one included.
  std::vector<double> radii;
  Kinds kinds;
};

/// What is in each shell.
struct DensityProfile {
  std::vector<double> radii;  ///< Those of the options.
  std::vector<double> mass;
  std::vector<std::uint64_t> particles;

  /// The mean density of a shell. Expects: there is such a shell.
  [[nodiscard]] double density(std::size_t shell) const;
};

/// Sums the particles of all ranks by their distance from a centre, equal on all ranks. Collective. Throws: `Error`
/// with `bad_argument` for radii that do not ascend. Cost: O(particles log shells), a reduction of the shells.
[[nodiscard]] DensityProfile measure_density_profile(comm::Endpoint& messages,
                                                     const Particles& particles,
                                                     const DensityProfileOptions& options);

}  // namespace plait::particles
