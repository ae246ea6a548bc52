// SPDX-License-Identifier: Apache-2.0
#include "plait/base/random.hpp"

#include <array>
#include <random>

#include <gtest/gtest.h>

namespace plait::random_test {
namespace {

static_assert(std::uniform_random_bit_generator<Random>);

TEST(Random, is_SplitMix64) {
  // The reference implementation's first numbers for seed 1234567 (prng.di.unimi.it/splitmix64.c).
  Random random{1234567};
  EXPECT_EQ(random(), 6457827717110365317U);
  EXPECT_EQ(random(), 3203168211198807973U);
  EXPECT_EQ(random(), 9817491932198370423U);
}

TEST(Random, stays_below_its_bound_and_reaches_all_below) {
  Random random{1};
  std::array<int, 7> seen{};
  for (int i = 0; i < 7000; ++i) {
    ++seen.at(random.below(seen.size()));
  }
  for (const int count : seen) {
    EXPECT_NEAR(count, 1000, 200);
  }
}

TEST(Random, gives_parts_of_one) {
  Random random{2};
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double part = random.unit();
    EXPECT_GE(part, 0);
    EXPECT_LT(part, 1);
    sum += part;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
  EXPECT_FALSE(random.happens(0));
  EXPECT_TRUE(random.happens(1));
}

TEST(Random, gives_gaussian_numbers) {
  Random random{3};
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < 10000; ++i) {
    const double number = random.normal();
    sum += number;
    squares += number * number;
    beyond_two += std::abs(number) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.04);
  EXPECT_NEAR(squares / 10000, 1, 0.06);
  EXPECT_NEAR(beyond_two, 455, 90);
}

}  // namespace
}  // namespace plait::random_test
