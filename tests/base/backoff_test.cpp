// SPDX-License-Identifier: Apache-2.0
#include "plait/base/backoff.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plait::backoff_test {
namespace {

TEST(Backoff, never_spins_when_told_not_to) {
  Crowding crowding;
  Backoff backoff{{.spin = nanoseconds::zero(),
                   .yield = nanoseconds::zero(),
                   .sleep_min = nanoseconds{1},
                   .sleep_max = nanoseconds{1}},
                  crowding};
  EXPECT_TRUE(backoff.must_sleep());
  EXPECT_TRUE(backoff.pause()) << "the first pause is a sleep";
}

TEST(Backoff, spins_first_and_then_sleeps_until_it_is_reset) {
  Crowding crowding;
  Backoff backoff{{.spin = std::chrono::microseconds{1}, .sleep_min = nanoseconds{1}, .sleep_max = nanoseconds{1}},
                  crowding};
  EXPECT_FALSE(backoff.pause());
  int looks = 1;
  while (!backoff.pause()) {
    ASSERT_LT(++looks, 1'000'000) << "spinning ends";
  }
  EXPECT_TRUE(backoff.must_sleep());
  backoff.reset();
  EXPECT_FALSE(backoff.pause());
}

TEST(Backoff, yields_before_it_sleeps_where_threads_outnumber_cores) {
  Crowding crowding;
  Backoff backoff{crowded({}), crowding};
  EXPECT_FALSE(backoff.must_sleep());
  int yields = 0;
  while (!backoff.pause()) {
    ASSERT_LT(++yields, 1'000'000) << "yielding ends";
  }
  EXPECT_GE(yields, 8) << "the clock is read after eight";
}

TEST(Backoff, sleeps_as_the_caller_does) {
  Crowding crowding;
  Backoff backoff{{.spin = nanoseconds::zero(), .yield = nanoseconds::zero(), .sleep_min = nanoseconds{10}}, crowding};
  std::vector<nanoseconds> slept;
  const auto sleep = [&](nanoseconds time) { slept.push_back(time); };
  EXPECT_TRUE(backoff.pause(sleep));
  EXPECT_TRUE(backoff.pause(sleep));
  EXPECT_EQ(slept, (std::vector<nanoseconds>{nanoseconds{10}, nanoseconds{20}}));
}

TEST(Backoff, doubles_its_sleeps_up_to_the_longest) {
  Crowding crowding;
  Backoff backoff{{.spin = nanoseconds::zero(),
                   .yield = nanoseconds::zero(),
                   .sleep_min = nanoseconds{10},
                   .sleep_max = nanoseconds{35}},
                  crowding};
  EXPECT_EQ(backoff.next_sleep(), nanoseconds{10});
  backoff.count_look();
  EXPECT_EQ(backoff.next_sleep(), nanoseconds{20});
  backoff.count_look();
  backoff.count_look();
  EXPECT_EQ(backoff.next_sleep(), nanoseconds{35});
  backoff.reset();
  EXPECT_EQ(backoff.next_sleep(), nanoseconds{10});
}

}  // namespace
}  // namespace plait::backoff_test
