// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/short_float.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace plait::particles::short_float_test {
namespace {

TEST(ShortFloat, rounds_to_the_nearest_or_away_from_zero) {
  for (float value = 1e-30F; value < 1e30F; value *= 1.37F) {
    for (const float number : {value, -value}) {
      EXPECT_LE(std::abs(ShortFloat::nearest(number).value() - number), value / 256);
      const float up = std::abs(ShortFloat::at_least(number).value());
      EXPECT_GE(up, value);
      EXPECT_LE(up, value * (1 + 1.0F / 128));
    }
  }
}

TEST(ShortFloat, keeps_what_it_can_represent) {
  for (const float value : {0.0F, 1.0F, -1.5F, 0x1.fep3F}) {
    EXPECT_EQ(ShortFloat::nearest(value).value(), value);
    EXPECT_EQ(ShortFloat::at_least(value).value(), value);
  }
  EXPECT_EQ(ShortFloat{}.value(), 0);
}

}  // namespace
}  // namespace plait::particles::short_float_test
