// SPDX-License-Identifier: Apache-2.0
#include "sph/exact/collapse.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace sph::collapse_test {
namespace {

using exact::Collapse;

double energy_of(const Collapse& flow) {
  return flow.kinetic() + flow.thermal() + flow.potential();
}

TEST(Collapse, begins_as_evrard_writes) {
  const Collapse flow{0};
  EXPECT_NEAR(flow.potential(), -2.0 / 3, 1e-4);
  EXPECT_NEAR(flow.thermal(), 0.05, 1e-9);
  EXPECT_EQ(flow.kinetic(), 0);
  EXPECT_NEAR(flow.at(0.4005).density, 1 / (2 * M_PI * 0.4005), 1e-2);
  EXPECT_EQ(flow.at(1.5).density, 0);
}

TEST(Collapse, keeps_energy_through_the_bounce) {
  const double begin = energy_of(Collapse{0, 300});
  EXPECT_NEAR(energy_of(Collapse{0.8, 300}), begin, 2e-3);
  EXPECT_NEAR(energy_of(Collapse{1.2, 300}), begin, 8e-3);
}

TEST(Collapse, does_not_depend_on_the_number_of_shells) {
  const Collapse few{0.8, 200};
  const Collapse many{0.8, 600};
  EXPECT_NEAR(few.kinetic(), many.kinetic(), 0.02 * many.kinetic());
  EXPECT_NEAR(few.at(0.3).density, many.at(0.3).density, 0.01 * many.at(0.3).density);
}

/// A shell that begins at r0, with a mass of r0^2 within it, falls as a body from rest: r = r0 (1 + cos x) / 2 at
/// t = (x + sin x) sqrt(r0 / 8). The pressure takes 4 % off.
TEST(Collapse, falls_almost_freely_where_the_gas_is_cold) {
  const double begin = 0.8;
  const double x = 0.5;
  const double radius = begin * (1 + std::cos(x)) / 2;
  const double fall = begin * std::sqrt(2 * (1 / radius - 1 / begin));
  const Collapse flow{(x + std::sin(x)) * std::sqrt(begin / 8)};
  EXPECT_NEAR(flow.at(radius).speed, -0.96 * fall, 0.02 * fall);
}

}  // namespace
}  // namespace sph::collapse_test
