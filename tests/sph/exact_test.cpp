// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gtest/gtest.h>

#include "sph/exact/riemann.hpp"
#include "sph/exact/sedov.hpp"

namespace sph::exact::exact_test {
namespace {

TEST(Riemann, sods_tube_as_toro_tabulates_it) {
  const Riemann flow{{1, 0, 1}, {0.125, 0, 0.1}, 1.4};  // Toro, table 4.3, test 1
  EXPECT_NEAR(flow.pressure(), 0.30313, 1e-5);
  EXPECT_NEAR(flow.speed(), 0.92745, 1e-5);
  EXPECT_NEAR(flow.at(0.9).density, 0.42632, 1e-5);
  EXPECT_NEAR(flow.at(1.0).density, 0.26557, 1e-5);
}

TEST(Riemann, strong_shocks_to_both_sides_as_toro_tabulates_them) {
  const Riemann flow{{5.99924, 19.5975, 460.894}, {5.99242, -6.19633, 46.0950}, 1.4};  // test 5
  EXPECT_NEAR(flow.pressure(), 1691.64, 0.02);
  EXPECT_NEAR(flow.speed(), 8.68975, 1e-4);
}

TEST(Riemann, the_fan_joins_the_gas_ahead_and_behind) {
  const Riemann flow{{1, 0, 1}, {0.125, 0, 0.1}, 5.0 / 3};
  const double head = -std::sqrt(5.0 / 3);
  EXPECT_NEAR(flow.at(head + 1e-9).density, 1, 1e-8);
  EXPECT_NEAR(flow.at(head - 1e-9).density, 1, 1e-12);
  const State behind = flow.at(flow.speed() - 1e-9);
  const double tail = behind.speed - std::sqrt(5.0 / 3 * behind.pressure / behind.density);
  EXPECT_NEAR(flow.at(tail - 1e-9).density, behind.density, 1e-8);
}

TEST(Sedov, shock_radius_as_in_the_books) {
  // Sedov 1959; 1.15167 for gamma = 5/3, 1.03279 for 7/5.
  EXPECT_NEAR(Sedov(1, 1, 5.0 / 3).shock_radius(1), 1.15167, 2e-4);
  EXPECT_NEAR(Sedov(1, 1, 1.4).shock_radius(1), 1.03279, 2e-4);
}

TEST(Sedov, holds_the_mass_and_the_energy_that_it_swept_up) {
  const Sedov blast{2, 3, 5.0 / 3};
  const double radius = blast.shock_radius(0.1);
  double mass = 0;
  double energy = 0;
  constexpr int steps = 20000;
  for (int i = 0; i < steps; ++i) {
    const double r = radius * (i + 0.5) / steps;
    const State s = blast.at(r, 0.1);
    const double volume = 4 * M_PI * r * r * radius / steps;
    mass += volume * s.density;
    energy += volume * (s.density * s.speed * s.speed / 2 + s.pressure * 1.5);
  }
  EXPECT_NEAR(mass, 3 * 4.0 / 3 * M_PI * std::pow(radius, 3), 1e-3 * mass);
  EXPECT_NEAR(energy, 2, 2e-3);
}

TEST(Sedov, ahead_of_the_shock_the_gas_is_as_it_was) {
  const Sedov blast{1, 1, 5.0 / 3};
  const State ahead = blast.at(1.001 * blast.shock_radius(0.05), 0.05);
  EXPECT_EQ(ahead.density, 1);
  EXPECT_EQ(ahead.speed, 0);
}

}  // namespace
}  // namespace sph::exact::exact_test
