// SPDX-License-Identifier: Apache-2.0
#include "plait/task/time_line.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::task::time_line_test {
namespace {

TimeBin bin(int number) {
  return TimeBin{static_cast<std::uint8_t>(number)};
}

TEST(TimeLine, has_bins_that_are_active_at_multiples_of_their_steps) {
  EXPECT_EQ(ticks_of(shortest_bin), 2U);
  EXPECT_EQ(ticks_of(bin(3)), 16U);
  EXPECT_EQ(ticks_of(longest_bin), line_ticks);
  for (Ticks now = 0; now < 300; ++now) {
    TimeBin longest{};
    for (int number = 0; number < time_bin_count; ++number) {
      EXPECT_EQ(is_active(bin(number), now), now % ticks_of(bin(number)) == 0);
      longest = is_active(bin(number), now) ? bin(number) : longest;
      const Ticks next = next_active(bin(number), now);
      EXPECT_TRUE(next > now && is_active(bin(number), next) && next - now <= ticks_of(bin(number)));
    }
    EXPECT_EQ(longest_active(now), longest);
  }
  EXPECT_EQ(longest_active(line_ticks), longest_bin);
  EXPECT_EQ(next_active(longest_bin, line_ticks - 2), line_ticks);
}

TEST(TimeLine, chooses_the_longest_bin_that_is_not_longer_than_the_step) {
  std::mt19937_64 random{1};
  std::uniform_real_distribution<double> exponent{-15, 2};
  const TimeLine line{-1.25, 3.5};
  for (int i = 0; i < 10'000; ++i) {
    const double step = std::pow(10, exponent(random));
    const TimeBin chosen = line.bin_for(step);
    EXPECT_LE(line.duration(ticks_of(chosen)), step);
    if (chosen != longest_bin) {
      EXPECT_GT(line.duration(2 * ticks_of(chosen)), step);
    }
  }
}

TEST(TimeLine, gives_a_step_that_is_exactly_a_bins_that_bin) {
  const TimeLine line{0, 0.7};  // whose parts are no round numbers
  for (int number = 1; number < time_bin_count; ++number) {
    const double step = line.duration(ticks_of(bin(number)));
    EXPECT_EQ(line.bin_for(step), bin(number));
    EXPECT_EQ(line.bin_for(std::nextafter(step, 0)), bin(number - 1));
    EXPECT_EQ(line.bin_for(std::nextafter(step, 1)), bin(number));
  }
}

TEST(TimeLine, takes_any_longer_step_for_the_longest_bin) {
  const TimeLine line{0, 1};
  EXPECT_EQ(line.bin_for(1), longest_bin);
  EXPECT_EQ(line.bin_for(5), longest_bin);
  EXPECT_EQ(line.bin_for(std::numeric_limits<double>::infinity()), longest_bin);
  EXPECT_EQ(line.time_at(line_ticks), 1);
  EXPECT_EQ(line.time_at(line_ticks / 4), 0.25);
}

TEST(TimeLine, refuses_steps_that_no_bin_has) {
  const TimeLine line{0, 1};
  const double shortest = line.duration(ticks_of(shortest_bin));
  EXPECT_EQ(line.bin_for(shortest), shortest_bin);
  EXPECT_THROW((void)line.bin_for(std::nextafter(shortest, 0)), Error);
  EXPECT_THROW((void)line.bin_for(0), Error);
  EXPECT_THROW((void)line.bin_for(-1), Error);
  EXPECT_THROW((void)line.bin_for(std::nan("")), Error);
}

TEST(TimeLine, refuses_an_end_that_is_not_after_the_begin) {
  EXPECT_THROW((TimeLine{1, 1}), Error);
  EXPECT_THROW((TimeLine{2, 1}), Error);
  EXPECT_THROW((TimeLine{0, std::numeric_limits<double>::infinity()}), Error);
}

}  // namespace
}  // namespace plait::task::time_line_test
