// SPDX-License-Identifier: Apache-2.0
#include "cosmology/linear_power.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace cosmology::linear_power_test {
namespace {

TEST(LinearPower, HasTheWantedStrengthAndSlopes) {
  const Universe universe;
  const PowerShape shape;
  const LinearPower power{universe, shape};
  EXPECT_NEAR(power.deviation(8 / universe.hubble), shape.sigma8, 1e-6);
  // Long waves keep the primordial slope; short ones fall nearly as k^-3.
  EXPECT_NEAR(std::log(power(2e-5) / power(1e-5)) / std::log(2), shape.index, 0.01);
  const double short_slope = std::log(power(20) / power(10)) / std::log(2);
  EXPECT_GT(short_slope, -3);
  EXPECT_LT(short_slope, -2.5);
  // The maximum is near 0.0165 h / Mpc in universes like this.
  double largest = 1e-3;
  for (double k = 1e-3; k < 1; k *= 1.01) {
    largest = power(k) > power(largest) ? k : largest;
  }
  EXPECT_NEAR(largest / universe.hubble, 0.0165, 0.002);
}

TEST(LinearPower, OfAFileIsInterpolated) {
  const auto file = std::filesystem::path{testing::TempDir()} / "plait-linear-power.txt";
  std::ofstream{file} << "# k power\n0.01 100\n\n  0.1 10 7\n1 1\n";
  const LinearPower power{{}, {.file = file}};
  EXPECT_NEAR(power(0.1), 10, 1e-9);
  EXPECT_NEAR(power(std::sqrt(0.01 * 0.1)), std::sqrt(1000), 1e-9);
  EXPECT_NEAR(power(1), 1, 1e-12);
  EXPECT_EQ(power(0.009), 0);
  EXPECT_EQ(power(1.1), 0);
  std::ofstream{file} << "0.1 10\n0.01 100\n";
  EXPECT_THROW((LinearPower{{}, {.file = file}}), plait::Error) << "decreasing";
  std::ofstream{file} << "0.1 10\n";
  EXPECT_THROW((LinearPower{{}, {.file = file}}), plait::Error) << "one line";
  std::filesystem::remove(file);
  EXPECT_THROW((LinearPower{{}, {.file = file}}), plait::Error) << "no file";
}

}  // namespace
}  // namespace cosmology::linear_power_test
