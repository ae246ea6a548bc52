// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/detail/spline.hpp"

#include <numeric>

#include <gtest/gtest.h>

namespace plait::particles::detail::spline_test {
namespace {

/// The definition, by recursion.
double cardinal(int order, double x) {
  if (order == 1) {
    return x >= 0 && x < 1 ? 1 : 0;
  }
  return (x * cardinal(order - 1, x) + (order - x) * cardinal(order - 1, x - 1)) / (order - 1);
}

TEST(SplineWeights, they_are_cardinal_splines_around_the_place) {
  for (const double place : {-3.75, 0.0, 0.5, 7.3, 7.999}) {
    const SplineWeights weights{place};
    EXPECT_NEAR(std::accumulate(weights.value.begin(), weights.value.end(), 0.0), 1, 1e-14);
    EXPECT_NEAR(std::accumulate(weights.slope.begin(), weights.slope.end(), 0.0), 0, 1e-14);
    const double step = 1e-6;
    for (int i = 0; i < spline_order; ++i) {
      const double x = place - static_cast<double>(weights.first + i) + spline_order / 2.0;
      EXPECT_NEAR(weights.value[i], cardinal(spline_order, x), 1e-14);
      const double slope = (cardinal(spline_order, x + step) - cardinal(spline_order, x - step)) / (2 * step);
      EXPECT_NEAR(weights.slope[i], slope, 1e-8);
    }
  }
}

}  // namespace
}  // namespace plait::particles::detail::spline_test
