// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/vector.hpp"

namespace plait::particles {

/// The exact field of charges and of all their images in a periodic box, with the mean density taken off.
struct EwaldField {
  std::vector<Vector> acceleration;
  std::vector<double> potential;  ///< Of all other charges and all images, own ones included.
};

/// Sums the field of `charges` at `places` in `box`, as gravity with coupling 1; accurate to 1e-10 of the field of a
/// neighbour. For charges of both signs the same sum is that of electrostatics with the sign changed.
///
/// For tests and for few particles. Throws: `Error` with `bad_argument` for spans of different lengths, and a box that
/// is no cube. Cost: 250 exponentials for each pair of particles. Source: Ewald, Ann. Phys. 369, 1921.
[[nodiscard]] EwaldField ewald_field(const Box& box, std::span<const Vector> places, std::span<const double> charges);

}  // namespace plait::particles
