// SPDX-License-Identifier: Apache-2.0
#include "plait/base/clock.hpp"

#include <gtest/gtest.h>

namespace plait::clock_test {
namespace {

TEST(SteadyClock, never_goes_back) {
  const SteadyClock clock;
  nanoseconds before = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const nanoseconds now = clock.now();
    EXPECT_GE(now, before);
    before = now;
  }
}

TEST(ManualClock, stands_still_until_it_is_advanced) {
  ManualClock clock;
  EXPECT_EQ(clock.now(), nanoseconds{0});
  clock.advance_to(nanoseconds{5});
  EXPECT_EQ(clock.now(), nanoseconds{5});
  EXPECT_EQ(clock.now(), nanoseconds{5});
}

TEST(ThreadProcessorTime, grows_by_no_more_than_the_time_that_passes) {
  const SteadyClock clock;
  const nanoseconds before = clock.now();
  const nanoseconds had = thread_processor_time();
  nanoseconds grown{};
  while (grown < std::chrono::microseconds{500}) {
    grown = thread_processor_time() - had;
  }
  EXPECT_LE(grown, clock.now() - before);
}

}  // namespace
}  // namespace plait::clock_test
