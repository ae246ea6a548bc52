// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/clock_alignment.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plait::trace::clock_alignment_test {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

ClockEvent exchange(nanoseconds time, nanoseconds offset, nanoseconds round_trip) {
  return {.time = time, .offset = offset, .round_trip = round_trip};
}

TEST(ClockExchange, puts_the_remote_time_in_the_middle_of_the_round_trip) {
  const ClockEvent event = clock_exchange(nanoseconds{1000}, nanoseconds{9100}, nanoseconds{1400});
  EXPECT_EQ(event.time, nanoseconds{1200});
  EXPECT_EQ(event.offset, nanoseconds{7900});
  EXPECT_EQ(event.round_trip, nanoseconds{400});
}

TEST(FitClock, uses_the_wall_clocks_when_there_was_no_exchange) {
  const ClockLine line = fit_clock({}, seconds{10}, microseconds{-30});
  EXPECT_EQ(line.to_rank_zero(seconds{1}), seconds{1} - microseconds{30});
}

TEST(FitClock, is_constant_with_one_exchange) {
  const std::vector exchanges = {exchange(seconds{1}, microseconds{5}, microseconds{2})};
  const ClockLine line = fit_clock(exchanges, seconds{10}, seconds{77});
  EXPECT_EQ(line.to_rank_zero(seconds{9}), seconds{9} + microseconds{5});
  EXPECT_EQ(line.error, microseconds{1});
}

TEST(FitClock, goes_through_the_best_of_start_and_end) {
  const std::vector exchanges = {exchange(seconds{0}, microseconds{500}, microseconds{90}),
                                 exchange(seconds{1}, microseconds{10}, microseconds{4}),
                                 exchange(seconds{100}, microseconds{900}, microseconds{80}),
                                 exchange(seconds{101}, microseconds{110}, microseconds{2})};
  const ClockLine line = fit_clock(exchanges, seconds{101}, {});
  EXPECT_EQ(line.to_rank_zero(seconds{1}), seconds{1} + microseconds{10});
  EXPECT_EQ(line.to_rank_zero(seconds{101}), seconds{101} + microseconds{110});
  EXPECT_EQ(line.to_rank_zero(seconds{51}), seconds{51} + microseconds{60});
  EXPECT_EQ(line.error, microseconds{2});
}

TEST(FitClock, recovers_a_drifting_clock) {
  constexpr double drift = 37e-6;
  std::vector<ClockEvent> exchanges;
  for (const nanoseconds time : {nanoseconds{1000}, nanoseconds{seconds{3600}}}) {
    const auto drifted = nanoseconds{static_cast<std::int64_t>(drift * double(time.count()))};
    exchanges.push_back(exchange(time, microseconds{12} + drifted, nanoseconds{600}));
  }
  const ClockLine line = fit_clock(exchanges, seconds{3600}, {});
  EXPECT_NEAR(line.drift, drift, 1e-9);
}

TEST(FitClock, does_not_extrapolate_from_the_start_of_a_killed_run) {
  const std::vector exchanges = {exchange(microseconds{10}, microseconds{4}, microseconds{5}),
                                 exchange(microseconds{90}, microseconds{6}, microseconds{3})};
  const ClockLine line = fit_clock(exchanges, seconds{100}, {});
  EXPECT_EQ(line.drift, 0);
  EXPECT_EQ(line.offset, microseconds{6});
}

TEST(FitClock, refuses_a_drift_that_no_clock_has) {
  const std::vector exchanges = {exchange(seconds{0}, seconds{0}, microseconds{1}),
                                 exchange(seconds{10}, seconds{5}, microseconds{2})};
  EXPECT_EQ(fit_clock(exchanges, seconds{10}, {}).drift, 0);
}

TEST(FitClock, takes_exchanges_in_any_order) {
  const std::vector exchanges = {exchange(seconds{100}, microseconds{3}, microseconds{1}),
                                 exchange(seconds{0}, microseconds{1}, microseconds{1})};
  EXPECT_EQ(fit_clock(exchanges, seconds{100}, {}).to_rank_zero(seconds{50}), seconds{50} + microseconds{2});
}

}  // namespace
}  // namespace plait::trace::clock_alignment_test
