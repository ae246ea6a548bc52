// SPDX-License-Identifier: Apache-2.0
#include "plait/base/topology.hpp"

#include <sched.h>

#include <gtest/gtest.h>

namespace plait::topology_test {
namespace {

TEST(Topology, a_process_may_use_some_of_the_cores) {
  EXPECT_GE(usable_core_count(), 1U);
  EXPECT_LE(usable_core_count(), machine_core_count());
  EXPECT_FALSE(host_name().empty());
}

TEST(Topology, unbound_ranks_share_all_cores) {
  if (usable_core_count() < machine_core_count()) {
    GTEST_SKIP() << "this process is bound to a part of the machine";
  }
  EXPECT_FALSE(is_oversubscribed(1, machine_core_count()));
  EXPECT_TRUE(is_oversubscribed(1, machine_core_count() + 1));
  EXPECT_TRUE(is_oversubscribed(machine_core_count() + 1, 1));
}

TEST(Topology, a_bound_rank_has_its_part_for_itself) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) {
    GTEST_SKIP() << "binding to a part needs two cores";
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &all)) {
      CPU_SET(core, &one);
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_FALSE(is_oversubscribed(100, 1));
  EXPECT_TRUE(is_oversubscribed(1, 2));
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

}  // namespace
}  // namespace plait::topology_test
