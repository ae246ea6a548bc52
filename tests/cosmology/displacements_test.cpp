// SPDX-License-Identifier: Apache-2.0
#include "cosmology/displacements.hpp"

#include <cmath>
#include <cstdlib>
#include <mutex>
#include <numbers>

#include <gtest/gtest.h>

#include "plait/testing/run_program.hpp"

namespace cosmology::displacements_test {
namespace {

constexpr std::uint32_t points = 16;
constexpr double box = 40;
constexpr double wave = 2 * std::numbers::pi / box;

/// Calls `check(place, first, second)` for each point of the lattice, on three ranks. Places count from the first
/// point.
template <class Check>
void for_points(const Contrast& contrast, Order order, Check check) {
  std::mutex mutex;
  std::size_t count = 0;
  plait::test::run_program({.ranks = 3}, [&](plait::Runtime& runtime) {
    const Displacements displacements{runtime, points, box, contrast, order};
    const plait::fft::IndexBox part = displacements.layout().box;
    const std::lock_guard lock{mutex};
    for (auto i = part.low[0]; i < part.high[0]; ++i) {
      for (auto j = part.low[1]; j < part.high[1]; ++j) {
        for (auto k = part.low[2]; k < part.high[2]; ++k) {
          const auto offset = static_cast<std::size_t>(displacements.layout().offset(i, j, k));
          const auto along = [](plait::fft::Index index) { return static_cast<double>(index) * box / points; };
          check(Vector{along(i), along(j), along(k)}, displacements.first(offset), displacements.second(offset));
          ++count;
        }
      }
    }
  });
  EXPECT_EQ(count, points * points * points);
}

/// A contrast of `strength` (cos(w x) + cos(2 w y)).
Contrast crossing_waves(double strength) {
  return [strength](const std::array<int, 3>& k) {
    const bool is_one = std::abs(k[0]) == 1 && k[1] == 0 && k[2] == 0;
    const bool is_other = k[0] == 0 && std::abs(k[1]) == 2 && k[2] == 0;
    return std::complex<double>{is_one || is_other ? strength / 2 : 0};
  };
}

TEST(Displacements, OfTwoCrossingWavesAreTheExactOnes) {
  constexpr double strength = 0.3;
  for_points(crossing_waves(strength), Order::second, [&](const Vector& q, const Vector& first, const Vector& second) {
    EXPECT_NEAR(first.x, -strength * std::sin(wave * q.x) / wave, 1e-12);
    EXPECT_NEAR(first.y, -strength * std::sin(2 * wave * q.y) / (2 * wave), 1e-12);
    EXPECT_NEAR(first.z, 0, 1e-12);
    // phi_xx phi_yy = strength^2 cos(w x) cos(2 w y), whose inverse Laplacian is -1 / (5 w^2) of it.
    const double factor = strength * strength / (5 * wave);
    EXPECT_NEAR(second.x, -factor * std::sin(wave * q.x) * std::cos(2 * wave * q.y), 1e-12);
    EXPECT_NEAR(second.y, -2 * factor * std::cos(wave * q.x) * std::sin(2 * wave * q.y), 1e-12);
    EXPECT_NEAR(second.z, 0, 1e-12);
  });
}

/// A plane wave of any direction moves as in first order until it crosses.
TEST(Displacements, OfAPlaneWaveHaveNoSecondOrder) {
  const Contrast diagonal = [](const std::array<int, 3>& k) {
    const bool is_it = k == std::array{1, 2, 1} || k == std::array{-1, -2, -1};
    return is_it ? std::complex<double>{0, k[2] * 0.2} : 0;
  };
  for_points(diagonal, Order::second, [](const Vector& q, const Vector& first, const Vector& second) {
    const double phase = wave * (q.x + 2 * q.y + q.z);  // the contrast is -0.4 sin(phase)
    EXPECT_NEAR(first.y, 2 * -0.4 * std::cos(phase) / (6 * wave), 1e-12);
    EXPECT_LT(length(second), 1e-12);
  });
}

TEST(Displacements, OfFirstOrderHaveNoSecond) {
  for_points(crossing_waves(0.3), Order::zeldovich, [](const Vector&, const Vector& first, const Vector& second) {
    EXPECT_TRUE(std::isfinite(first.x));
    EXPECT_EQ(second, Vector{});
  });
}

TEST(SecondGrowth, IsThatOfMatterAloneEarly) {
  EXPECT_EQ(second_growth(1).factor, 1);
  EXPECT_EQ(second_growth(1).rate, 2);
  // The growing solution of D2'' + ... = -3/2 Omega D^2 in Planck's universe today, integrated by the fourth-order
  // Runge-Kutta method from a = 1e-3: D2 / D^2 = -3/7 * 1.00837, d ln D2 / d ln a = 1.0615.
  EXPECT_NEAR(second_growth(0.3111).factor, 1.00837, 3e-4);
  EXPECT_NEAR(second_growth(0.3111).rate, 1.0615, 5e-3);
}

}  // namespace
}  // namespace cosmology::displacements_test
