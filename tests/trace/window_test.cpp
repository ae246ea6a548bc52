// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/window.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/clock.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::trace::window_test {
namespace {

using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;

/// A recorder, and what is in its file.
struct File {
  plait::test::TemporaryFolder folder;
  SteadyClock clock;
  Recorder recorder{clock, {.folder = folder.path(), .rank = Rank{0}, .rank_count = 1}};
  ThreadRecorder& thread = recorder.thread(WorkerId{0}, "main");

  [[nodiscard]] std::vector<Recorded<WindowEvent>> windows() const {
    return read_rank_trace(folder / "rank-0000.plt").value().windows;
  }
};

TEST(WindowOptions, are_read_with_units_and_for_regions) {
  const WindowOptions times = read_window_options("10s/2min").value();
  EXPECT_EQ(times.length, 10s);
  EXPECT_EQ(times.period, 2min);
  const WindowOptions regions = read_window_options("region:assemble..solve/10").value();
  EXPECT_EQ(regions.from, "assemble");
  EXPECT_EQ(regions.to, "solve");
  EXPECT_EQ(regions.every, 10U);
  EXPECT_EQ(read_window_options("region:step").value().to, "step");
}

TEST(WindowOptions, that_make_no_sense_are_refused_with_what_is_possible) {
  for (const char* text :
       {"", "10s", "10/20", "2s/1s", "0s/1s", "1us/1s", "region:", "region:a..", "region:a/0", "s/s"}) {
    const Result<WindowOptions> options = read_window_options(text);
    ASSERT_FALSE(options) << text;
    EXPECT_NE(std::string{options.error().what()}.find("10s/1000s"), std::string::npos);
  }
}

TEST(Windows, of_time_begin_each_period_of_rank_0s_clock) {
  File file;
  Windows windows{{.length = 10ms, .period = 100ms}, file.recorder};
  windows.align(5ms);  // this rank's clock is 5 ms behind
  const auto is_open = [&](nanoseconds time) { return windows.overlaps(time, time, file.thread); };
  EXPECT_TRUE(is_open(4ms));
  EXPECT_FALSE(is_open(5ms));
  EXPECT_FALSE(is_open(94ms));
  EXPECT_TRUE(is_open(95ms));
  EXPECT_TRUE(windows.overlaps(50ms, 96ms, file.thread));
  EXPECT_TRUE(windows.overlaps(50ms, 180ms, file.thread)) << "a call during all of a window";
  EXPECT_FALSE(windows.overlaps(106ms, 180ms, file.thread));
  ASSERT_EQ(file.windows().size(), 2U);
  EXPECT_EQ(file.windows()[1].event.number, 1U);
  EXPECT_EQ(file.windows()[1].event.start, 95ms);
  EXPECT_EQ(file.windows()[1].event.end, 105ms);
}

TEST(Windows, of_regions_open_at_each_nth_begin_and_close_at_the_end) {
  File file;
  Windows windows{{.from = "assemble", .to = "solve", .every = 2}, file.recorder};
  const NameId assemble = file.recorder.name(Role::span, "assemble");
  const NameId solve = file.recorder.name(Role::span, "solve");
  EXPECT_FALSE(windows.overlaps(0ms, 1ms, file.thread));
  for (const nanoseconds start : {nanoseconds{10ms}, nanoseconds{30ms}, nanoseconds{50ms}}) {
    windows.region_begins(assemble, start, file.thread);
    windows.region_ends(assemble, start + 1ms, file.thread);
    EXPECT_EQ(windows.overlaps(start + 2ms, start + 3ms, file.thread), start != 30ms);
    windows.region_ends(solve, start + 5ms, file.thread);
    EXPECT_FALSE(windows.overlaps(start + 6ms, start + 7ms, file.thread));
  }
  ASSERT_EQ(file.windows().size(), 4U) << "two windows, each recorded when it opens and when it closes";
  EXPECT_EQ(file.windows()[3].event.number, 1U);
  EXPECT_EQ(file.windows()[3].event.start, 50ms);
  EXPECT_EQ(file.windows()[3].event.end, 55ms);
}

}  // namespace
}  // namespace plait::trace::window_test
