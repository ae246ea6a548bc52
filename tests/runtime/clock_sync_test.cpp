// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/clock_sync.hpp"

#include <gtest/gtest.h>

#include "plait/testing/run_program.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"

namespace plait::clock_sync_test {
namespace {

TEST(ClockSync, finds_by_how_much_the_times_of_ranks_differ) {
  const test::TemporaryFolder folder;
  plait::test::run_program(
      {.ranks = 3}, {.trace_folder = folder.path() / "run"}, [](Runtime&) {});  // at start and at end
  const trace::RunTrace run = trace::read_run(folder.path() / "run").value();
  ASSERT_EQ(run.ranks.size(), 3U);
  for (const trace::RankTrace& rank : run.ranks) {
    ASSERT_EQ(rank.clocks.size(), 2U);
    // Ranks of one process read one clock, so the file has the true times to compare with.
    const nanoseconds truth = rank.clock - run.ranks[0].clock;
    for (const trace::ClockEvent& told : rank.clocks) {
      EXPECT_LE(std::chrono::abs(told.offset - truth), told.round_trip / 2 + nanoseconds{1});
    }
  }
}

}  // namespace
}  // namespace plait::clock_sync_test
