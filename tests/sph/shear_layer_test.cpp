// SPDX-License-Identifier: Apache-2.0
#include "sph/exact/shear/shear_layer.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace sph::shear_layer_test {
namespace {

TEST(ShearLayer, changes_smoothly_at_a_quarter_and_three_quarters) {
  for (const double edge : {0.25, 0.75}) {
    EXPECT_NEAR(exact::shear_layer_at(edge).density, 1.5, 1e-12);
    EXPECT_NEAR(exact::shear_layer_at(edge - 1e-9).speed, exact::shear_layer_at(edge + 1e-9).speed, 1e-6);
  }
  EXPECT_NEAR(exact::shear_layer_at(0.5).density, 2, 1e-4);
  EXPECT_NEAR(exact::shear_layer_at(0.5).speed, -0.5, 1e-4);
  EXPECT_NEAR(exact::shear_layer_at(0).density, 1, 1e-4);
  EXPECT_EQ(exact::shear_layer_at(0.1).pressure, 2.5);
}

/// The first of the tabulated amplitudes is that of the wave at the beginning, wherever it is sampled.
TEST(ShearLayer, amplitude_at_the_beginning_is_the_waves) {
  constexpr int edge = 50;
  exact::ShearMode mode;
  for (int i = 0; i < edge * edge; ++i) {
    const double x = (i % edge + 0.25) / edge;
    const double y = (i / edge + 0.5) / edge;
    mode.add(x, y, exact::shear_wave_at(x), 1.0 / (edge * edge));
  }
  EXPECT_NEAR(mode.amplitude(), 0.01, 1e-6);
  EXPECT_NEAR(exact::shear_amplitude_at(0), mode.amplitude(), 1e-6);
}

TEST(ShearLayer, amplitude_grows_by_a_rate_below_that_of_a_sharp_edge) {
  // A sharp edge: k dv sqrt(density 1 density 2) / (density 1 + density 2), with k = 4 pi and dv = 1.
  const double sharp = 4 * M_PI * std::sqrt(2.0) / 3;
  const double rate = std::log(exact::shear_amplitude_at(1.2) / exact::shear_amplitude_at(0.8)) / 0.4;
  EXPECT_GT(rate, 0.4 * sharp);
  EXPECT_LT(rate, sharp);
}

TEST(ShearLayer, a_mode_of_nothing_is_zero) {
  EXPECT_EQ(exact::ShearMode{}.amplitude(), 0);
}

}  // namespace
}  // namespace sph::shear_layer_test
