// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sph/exact/riemann.hpp"

// Two layers of gas that slide along each other, with smooth edges, so that results converge with the resolution
// (McNally, Lyra and Passy, 2012, ApJS 201, 18). The square has an edge of 1 and is periodic.

namespace sph::exact {

inline constexpr double shear_gamma = 5.0 / 3;

/// The gas at `y` at the beginning; its speed is along x.
[[nodiscard]] State shear_layer_at(double y);
/// The speed along y at the beginning, which the instability amplifies: two waves.
[[nodiscard]] double shear_wave_at(double x);

/// The amplitude of the wave in the speed along y: equations 10 to 13 of the paper.
struct ShearMode {
  double sine = 0, cosine = 0, weight = 0;

  /// Adds gas of that volume.
  void add(double x, double y, double speed_y, double volume);
  [[nodiscard]] double amplitude() const;
};

/// The amplitude at `time`, from 0 to `shear_time_max`, as differences of sixth order on 256^2 points find it
/// (`sph_make_shear_amplitudes`); 128^2 points find the same to 1.5 %. The paper computes it on 4096^2 by the same
/// order.
[[nodiscard]] double shear_amplitude_at(double time);
inline constexpr double shear_time_max = 2;

}  // namespace sph::exact
