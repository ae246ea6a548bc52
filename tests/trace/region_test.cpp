// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/region.hpp"

#include <gtest/gtest.h>

#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"

namespace plait::trace::region_test {
namespace {

TEST(Region, is_a_span_of_worker_0_as_long_as_its_scope) {
  const test::TemporaryFolder folder;
  ManualClock clock;
  {
    Recorder recorder{clock, {.folder = folder.path(), .rank = Rank{0}, .rank_count = 1}};
    clock.advance_to(nanoseconds{100});
    const Region whole{recorder, "whole"};
    {
      const Region solve{recorder, "solve", 7};
      clock.advance_to(nanoseconds{250});
    }
    clock.advance_to(nanoseconds{300});
  }
  Result<RankTrace> trace = read_rank_trace(folder.path() / "rank-0000.plt");
  ASSERT_TRUE(trace);
  const auto& spans = trace.value().spans;
  ASSERT_EQ(spans.size(), 2U);  // in the order in which they ended
  EXPECT_EQ(spans[0].event.start, nanoseconds{100});
  EXPECT_EQ(spans[0].event.end, nanoseconds{250});
  EXPECT_EQ(spans[0].event.step, 7U);
  EXPECT_EQ(spans[1].event.end, nanoseconds{300});
  EXPECT_NE(spans[0].event.name, spans[1].event.name);
}

TEST(Region, costs_nothing_where_tracing_is_off) {
  ManualClock clock;
  Recorder recorder{clock};
  const Region region{recorder, "solve"};
  EXPECT_FALSE(recorder.thread(WorkerId{0}, "").is_on());
}

}  // namespace
}  // namespace plait::trace::region_test
