// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

namespace pic {

// The particle-in-cell problem of the Parallel Research Kernels, whose particles have exact final positions.
// E. Georganas, R. F. Van der Wijngaart, T. G. Mattson, "Design and implementation of a parallel research kernel for
// assessing dynamic load-balancing capabilities", IPDPS 2016. Cells, charges on nodes, masses and the step are 1.

/// Charge of the nodes at column x: +1 on even ones, -1 on odd ones.
[[nodiscard]] inline double column_charge(std::int32_t x) {
  return (x & 1) == 0 ? 1.0 : -1.0;
}

/// The charge that moves a particle at rest from the middle of a cell to that of the next one in one step.
[[nodiscard]] inline double crossing_charge() {
  const double distance2 = 0.5;
  return 1 / (2 * (0.5 / std::sqrt(distance2)) / distance2);
}

/// The force of a cell's four corners on a unit charge at (x, y) in the cell, when the left corners have charge 1 and
/// the right ones -1.
struct CornerForce {
  double x = 0;
  double y = 0;
};
[[nodiscard]] inline CornerForce corner_force(double x, double y) {
  const auto from = [](double dx, double dy) {
    const double distance2 = dx * dx + dy * dy;
    const double strength = 1 / (distance2 * std::sqrt(distance2));
    return CornerForce{dx * strength, dy * strength};
  };
  const CornerForce low_left = from(x, y);
  const CornerForce high_left = from(x, y - 1);
  const CornerForce low_right = from(x - 1, y);
  const CornerForce high_right = from(x - 1, y - 1);
  return {(low_left.x + high_left.x) - (low_right.x + high_right.x),
          (low_left.y + high_left.y) - (low_right.y + high_right.y)};
}

}  // namespace pic
