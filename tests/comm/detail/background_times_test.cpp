// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/background_times.hpp"

#include <chrono>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"

namespace plait::comm::detail::background_times_test {
namespace {

using std::chrono::microseconds;

/// What is written while `use` advances the clock and notes.
std::vector<trace::BackgroundTimeEvent> written(const std::function<void(ManualClock&, BackgroundTimes&)>& use) {
  const plait::test::TemporaryFolder folder;
  ManualClock clock;
  {
    trace::Recorder recorder{clock, {.folder = folder.path() / "run", .rank = Rank{0}, .rank_count = 1}};
    BackgroundTimes times{&recorder};
    use(clock, times);
  }
  return trace::read_rank_trace(folder.path() / "run" / "rank-0000.plt").value().background_times;
}

/// Of this thread, all of which counts as polling.
void compute_for(nanoseconds time) {
  const nanoseconds before = thread_processor_time();
  while (thread_processor_time() - before < time) {
  }
}

TEST(BackgroundTimes, have_a_record_every_millisecond_with_the_processor_time_until_then) {
  const auto times = written([](ManualClock& clock, BackgroundTimes& noted) {
    compute_for(microseconds{200});
    clock.advance_to(microseconds{999});
    noted.note();
    clock.advance_to(microseconds{1500});
    noted.note();
    clock.advance_to(microseconds{3000});
    noted.note();
  });
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].start, nanoseconds{});
  EXPECT_EQ(times[0].end, microseconds{1500});
  EXPECT_GE(times[0].took, microseconds{200});
  EXPECT_EQ(times[1].start, microseconds{1500});
  EXPECT_EQ(times[1].end, microseconds{3000});
}

TEST(BackgroundTimes, leave_out_a_long_sleep) {
  const auto times = written([](ManualClock& clock, BackgroundTimes& noted) {
    clock.advance_to(microseconds{300});
    noted.note();
    clock.advance_to(microseconds{90'000});
    noted.restart();
    clock.advance_to(microseconds{90'400});
    noted.note();
  });
  ASSERT_EQ(times.size(), 2U) << "one before the sleep, and one at the end";
  EXPECT_EQ(times[0].end, microseconds{300});
  EXPECT_EQ(times[1].start, microseconds{90'000});
  EXPECT_EQ(times[1].end, microseconds{90'400});
}

TEST(BackgroundTimes, are_not_kept_without_a_recorder) {
  BackgroundTimes none{nullptr};
  none.note();
  none.restart();
  ManualClock clock;
  trace::Recorder off{clock};
  BackgroundTimes silent{&off};
  clock.advance_to(microseconds{5000});
  silent.note();
  SUCCEED();
}

}  // namespace
}  // namespace plait::comm::detail::background_times_test
