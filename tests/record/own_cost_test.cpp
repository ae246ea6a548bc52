// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <gtest/gtest.h>

#include "record/run.hpp"

namespace plait::record::test::own_cost_test {
namespace {

TEST(OwnCost, is_in_the_trace_of_each_rank) {
  const trace::RunTrace run = recorded("point_to_point", 2);
  ASSERT_EQ(run.ranks.size(), 2U);
  for (const trace::RankTrace& rank : run.ranks) {
    ASSERT_EQ(rank.recorder_costs.size(), 1U);
    const trace::RecorderCostsEvent& costs = rank.recorder_costs.front();
    EXPECT_GT(costs.inside, nanoseconds{});
    EXPECT_GT(costs.poll, costs.inside);
    EXPECT_GT(costs.call, costs.inside);
    EXPECT_GT(costs.request, nanoseconds{});
  }
}

TEST(OwnCost, leaves_neither_calls_nor_files) {
  const Ran ran = run("point_to_point", 2);
  auto trace = trace::read_run(ran.folder);
  ASSERT_TRUE(trace) << trace.error().what();
  for (const trace::RankTrace& rank : trace.value().ranks) {
    ASSERT_FALSE(rank.calls.empty());
    EXPECT_EQ(rank.calls.front().event.number, 1U) << "its own calls take no numbers of the program's";
  }
  for (const auto& entry : std::filesystem::directory_iterator{ran.folder}) {
    EXPECT_FALSE(entry.is_directory()) << entry.path();
  }
}

}  // namespace
}  // namespace plait::record::test::own_cost_test
