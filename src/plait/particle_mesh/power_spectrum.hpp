// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/fft/layout.hpp"
#include "plait/particles/store/box.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::particles {

/// The particles whose density is analysed, and the mesh.
struct PowerSpectrumOptions {
  Field<double> mass;
  Kinds kinds;
  Box box;  ///< Periodic.
  /// The points along each axis; at least 6. Waves shorter than four points' distance are not accurate.
  std::array<fft::Index, 3> mesh{};
};

/// The power of density contrasts, by wave number: the mean of V |d_k|^2 over the waves of a shell, where d_k is the
/// mean over the box of (density / mean density - 1) exp(-i k x), and V the volume.
struct PowerSpectrum {
  std::vector<double> wave_number;   ///< The mean of each shell.
  std::vector<double> power;         ///< With what the number of particles alone causes.
  std::vector<std::uint64_t> waves;  ///< The number in each shell, k and -k counted both.
  double shot_noise = 0;             ///< What as many particles at random places have: V / number, for equal masses.
};

/// Measures the power spectrum of all ranks' particles, equal on all ranks. Shells are as wide as the longest wave's
/// number, up to the wave of two points' distance. No rank gets the particles of others.
///
/// Collective. Throws: `Error` with `bad_argument` for a box without a volume, a mesh that is too small, and if there
/// is no mass. Cost: 216 points for each particle, one transform, and the points of `mesh` in messages.
/// Source: Jing, "Correcting for the alias effect ...", Astrophys. J. 620, 2005, for the division by the spline's
/// transform.
[[nodiscard]] PowerSpectrum measure_power_spectrum(comm::Endpoint& messages,
                                                   task::Scheduler& scheduler,
                                                   const Particles& particles,
                                                   const PowerSpectrumOptions& options);

}  // namespace plait::particles
