// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/beside.hpp"

#include <gtest/gtest.h>

#include "replay/task_graphs.hpp"

namespace plait::replay::beside_test {
namespace {

/// A task of 100 us on each of two ranks, the second of which starts at a time.
TaskRun two_tasks(microseconds second) {
  TaskGraphs graphs{2};
  for (const std::uint32_t rank : {0U, 1U}) {
    const std::uint32_t task = graphs.task(rank, microseconds{100});
    graphs.builder()[task].start = rank == 0 ? microseconds{} : second;
    graphs.builder()[task].end = graphs.builder()[task].start + microseconds{100};
  }
  return graphs.get();
}

TEST(PartBesideOthers, is_that_of_the_computing_time_in_which_two_cores_compute) {
  EXPECT_DOUBLE_EQ(part_beside_others(two_tasks(microseconds{0})), 1);
  EXPECT_DOUBLE_EQ(part_beside_others(two_tasks(microseconds{75})), 0.25);
  EXPECT_DOUBLE_EQ(part_beside_others(two_tasks(microseconds{100})), 0) << "one ends when the other starts";
}

TEST(PartBesideOthers, does_not_count_cores_of_other_hosts) {
  TaskRun run = two_tasks(microseconds{0});
  run.hosts = {"a", "b"};
  EXPECT_DOUBLE_EQ(part_beside_others(run), 0);
  run.hosts = {"a", "a"};
  EXPECT_DOUBLE_EQ(part_beside_others(run), 1);
}

TEST(PartBesideOthers, of_a_run_without_tasks_is_none) {
  EXPECT_DOUBLE_EQ(part_beside_others({}), 0);
}

}  // namespace
}  // namespace plait::replay::beside_test
