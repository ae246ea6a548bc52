// SPDX-License-Identifier: Apache-2.0
#include "plait/record/nested_counters.hpp"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

#include "record/run.hpp"

namespace plait::record::nested_counters_test {
namespace {

TEST(NestedCounters, leave_a_record_for_each_region_and_counter) {
  ::setenv("PLAIT_RECORD_COUNTERS", "task-clock,page-faults", 1);
  try {
    const ThreadCounters trial{counters_wanted()};
  } catch (const Error& error) {
    ::unsetenv("PLAIT_RECORD_COUNTERS");
    // The kernel or a container may forbid counters (perf_event_paranoid); the sentence names which.
    GTEST_SKIP() << error.what();
  }
  const trace::RunTrace run = test::recorded("regions", 2);
  ::unsetenv("PLAIT_RECORD_COUNTERS");
  ASSERT_EQ(run.ranks.size(), 2U);
  for (const trace::RankTrace& rank : run.ranks) {
    std::size_t of_regions = 0;
    for (const auto& [thread, count] : rank.counts) {
      if (!count.region) {
        continue;
      }
      ++of_regions;
      const bool has_span = std::ranges::any_of(rank.spans, [&](const auto& span) {
        return span.event.name == count.region && span.event.start == count.start && span.event.end == count.end;
      });
      EXPECT_TRUE(has_span);
      if (rank.name(trace::Role::counter, count.counter) == "task-clock") {
        EXPECT_GT(count.value, 0U);
      }
    }
    EXPECT_EQ(of_regions, 2 * rank.spans.size());
  }
}

TEST(UsageRecords, are_those_of_each_thread) {
  const trace::RunTrace run = test::recorded("regions", 1);
  ASSERT_EQ(run.ranks.size(), 1U);
  const trace::RankTrace& rank = run.ranks[0];
  for (const char* const name : {"processor time", "waiting for a core", "involuntary switches", "cores allowed"}) {
    const auto found = std::ranges::count_if(
        rank.counts, [&](const auto& count) { return rank.name(trace::Role::counter, count.event.counter) == name; });
    EXPECT_EQ(found, 2) << name;  // the main thread, and one that called MPI
  }
}

}  // namespace
}  // namespace plait::record::nested_counters_test
