// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/expansion.hpp"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::particles::expansion_test {
namespace {

TEST(Expansion, OfMatterAloneHasTheKnownPowersOfTime) {
  const Expansion universe{2, 1};
  for (const double a : {0.01, 0.3, 1.0}) {
    EXPECT_NEAR(universe.rate(a), 2 * std::pow(a, -1.5), 1e-12 * universe.rate(a));
    EXPECT_NEAR(universe.time(a), std::pow(a, 1.5) / 3, 1e-12);
    EXPECT_NEAR(universe.growth(a), a, 1e-9 * a);
    EXPECT_NEAR(universe.growth_rate(a), 1, 1e-8);
  }
  // dt / a = da / (a^2 rate) = a^(-1/2) da / 2, and dt / a^2 = a^(-3/2) da / 2.
  EXPECT_NEAR(universe.kick(0.04, 0.09), std::sqrt(0.09) - std::sqrt(0.04), 1e-9);
  EXPECT_NEAR(universe.drift(0.04, 0.09), 1 / std::sqrt(0.04) - 1 / std::sqrt(0.09), 1e-9);
  EXPECT_NEAR(universe.matter_density(1), 3 * 4 / (8 * std::numbers::pi), 1e-12);
}

TEST(Expansion, WithAConstantHasThePublishedAgeAndGrowth) {
  // Hubble time 9.778 / h billion years; age of the Planck 2018 universe: 13.79 (arXiv:1807.06209, table 2, last
  // column), with radiation, which is left out here.
  const Expansion universe{0.6766 / 9.778, 0.3111};
  EXPECT_NEAR(universe.time(1), 13.79, 0.02);
  // Fit of Carroll, Press and Turner, Annu. Rev. Astron. Astrophys. 30, 1992, eq. 29, good to 1 %: g(today) over that
  // of matter alone.
  const double m = 0.3111;
  const double l = 1 - m;
  const double fit = 2.5 * m / (std::pow(m, 4.0 / 7) - l + (1 + m / 2) * (1 + l / 70));
  EXPECT_NEAR(0.001 / universe.growth(0.001), fit, 0.01 * fit);
  EXPECT_NEAR(universe.growth_rate(1), std::pow(m, 0.55), 0.005);
  EXPECT_EQ(universe.growth(1), 1);
}

TEST(Expansion, IntegratesAsItsRate) {
  const Expansion universe{0.7, 0.3};
  const double a = 0.4;
  const double small = 1e-5;
  EXPECT_NEAR(universe.time(a + small) - universe.time(a), small / (a * universe.rate(a)), 1e-9);
  EXPECT_NEAR(universe.drift(a, a + small), small / (a * a * a * universe.rate(a)), 1e-8);
  EXPECT_NEAR(universe.drift(0.1, 0.7), universe.drift(0.1, 0.2) + universe.drift(0.2, 0.7), 1e-4);
  EXPECT_NEAR(universe.growth_rate(a),
              a * (universe.growth(a + small) - universe.growth(a - small)) / (2 * small * universe.growth(a)),
              1e-6);
}

TEST(Expansion, RefusesImpossibleOnes) {
  EXPECT_THROW((Expansion{0, 0.3}), Error);
  EXPECT_THROW((Expansion{0.7, 0}), Error);
  EXPECT_THROW((Expansion{0.7, 1.1}), Error);
  EXPECT_THROW((Expansion{std::nan(""), 0.3}), Error);
}

}  // namespace
}  // namespace plait::particles::expansion_test
