// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sph/gas.hpp"
#include "sph/pair_sums.hpp"

namespace sph {

/// Parts of the gradient of a flow at a particle.
struct FlowGradient {
  float divergence = 0;
  float curl = 0;        ///< Its length.
  Vector strain_along;   ///< The symmetric part: xx, yy, zz,
  Vector strain_across;  ///< and yz, xz, xy.
  /// How fast the divergence falls in a flow without forces: the trace of the gradient's square.
  float falling = 0;
};

/// The gradient that the sums of a particle give: exact for flows that change linearly, whatever the places of the
/// neighbours (Cullen and Dehnen, 2010, appendix B). A particle with too few neighbours has the plain estimate.
[[nodiscard]] FlowGradient flow_gradient(const DensitySums& sums);

}  // namespace sph
