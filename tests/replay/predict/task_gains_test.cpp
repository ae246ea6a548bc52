// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/task_gains.hpp"

#include <gtest/gtest.h>

#include "replay/task_graphs.hpp"

namespace plait::replay::task_gains_test {
namespace {

/// Two long kinds side by side on two workers: each alone is not worth making faster.
TaskRun side_by_side() {
  TaskGraphs graphs{1, 2};
  const std::uint32_t walk = graphs.task(0, microseconds{100}, "walk");
  const std::uint32_t sort = graphs.task(0, microseconds{90}, "sort");
  const std::uint32_t kick = graphs.task(0, microseconds{100}, "kick");
  graphs.order(walk, kick);
  graphs.order(sort, kick);
  return graphs.get();
}

TEST(TaskGains, a_kind_beside_another_gains_less_than_its_part_of_the_critical_path) {
  const auto gains = gains_of(side_by_side(), simple_network(), {}, 3).value();
  ASSERT_EQ(gains.size(), 4U);  // with the program; there are no messages
  EXPECT_EQ(gains[0].what, "`kick`");
  EXPECT_DOUBLE_EQ(gains[0].gain, 0.25);
  EXPECT_EQ(gains[1].what, "`walk`");
  EXPECT_NEAR(gains[1].gain, 0.05, 1e-9);  // then `sort` is as long
}

TEST(TaskGains, the_sentence_names_the_largest_first) {
  EXPECT_EQ(sentence_of({{"`walk`", 0.214}, {"a network", 0.02}, {"`sort`", 0.001}}),
            "Making `walk` twice as fast would gain 21 %; a network twice as fast, 2 %; `sort`, nothing.");
  EXPECT_EQ(sentence_of({{"a network", 0.3}, {"`walk`", 0.1}}),
            "Making the network twice as fast would gain 30 %; `walk`, 10 %.");
  EXPECT_EQ(sentence_of({}), "");
}

TEST(TaskGains, a_kind_that_never_ran_is_refused_with_those_that_did) {
  const TaskRun run = side_by_side();
  EXPECT_EQ(find_kind(run, "sort").value(), 1U);
  EXPECT_NE(std::string{find_kind(run, "fly").error().what()}.find("walk, sort, kick"), std::string::npos);
}

}  // namespace
}  // namespace plait::replay::task_gains_test
