// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "ring/body.hpp"

namespace ring::test {

/// Self-gravity by direct summation, O(n^2); what every approximation is held against.
inline std::vector<Vector> direct_accelerations(std::span<const Body> bodies, double softening = 0) {
  std::vector<Vector> result(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    for (const Body& other : bodies) {
      const Vector d = other.position - bodies[i].position;
      const double r2 = dot(d, d) + softening * softening;
      if (r2 > softening * softening) {
        result[i] += (other.mass / (r2 * std::sqrt(r2))) * d;
      }
    }
  }
  return result;
}

/// Root mean square of the differences over that of the reference. Not that of each body's relative error: inside a
/// regular ring forces cancel, and a body's own force may be next to nothing.
inline double rms_error(std::span<const Body> bodies, std::span<const Vector> reference) {
  double error2 = 0;
  double norm2 = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Vector difference = bodies[i].acceleration - reference[i];
    error2 += dot(difference, difference);
    norm2 += dot(reference[i], reference[i]);
  }
  return std::sqrt(error2 / norm2);
}

}  // namespace ring::test
