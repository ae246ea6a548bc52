// SPDX-License-Identifier: Apache-2.0
// The points of the glass are even, and on no lattice.
#include "sph/problems/glass/glass.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include <gtest/gtest.h>

namespace sph::glass_test {
namespace {

/// In mean distances of points, in the periodic cube.
double distance(const GlassPoint& left, const GlassPoint& right) {
  double sum = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double apart = std::abs(left[axis] - right[axis]) / glass_unit;
    sum += std::pow(std::min(apart, 1 - apart) * glass_edge, 2);
  }
  return std::sqrt(sum);
}

TEST(Glass, has_as_many_points_as_a_lattice) {
  EXPECT_EQ(glass_points().size(), std::size_t{glass_edge} * glass_edge * glass_edge);
}

TEST(Glass, has_its_points_evenly_apart) {
  for (const GlassPoint& point : glass_points()) {
    double nearest = glass_edge;
    for (const GlassPoint& other : glass_points()) {
      nearest = &other == &point ? nearest : std::min(nearest, distance(point, other));
    }
    EXPECT_GT(nearest, 0.7);  // of random points, some are closer than 0.1
    EXPECT_LT(nearest, 1.2);  // 1.12 on the densest lattice
  }
}

TEST(Glass, has_no_planes_across_its_axes) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::uint32_t planes = 1; planes <= 2 * glass_edge; ++planes) {
      std::complex<double> sum = 0;
      for (const GlassPoint& point : glass_points()) {
        sum += std::polar(1.0, 2 * std::numbers::pi * planes * point[axis] / glass_unit);
      }
      EXPECT_LT(std::abs(sum) / static_cast<double>(glass_points().size()), 0.2) << planes;  // 1 on a lattice
    }
  }
}

}  // namespace
}  // namespace sph::glass_test
