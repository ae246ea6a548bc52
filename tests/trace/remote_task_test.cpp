// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/remote_task.hpp"

#include <gtest/gtest.h>

namespace plait::trace::remote_task_test {
namespace {

TEST(RemoteTask, is_listed_with_its_rank_and_own_tasks_without) {
  const ListedTask other = listed_task(remote_task(Rank{0}, 7));
  EXPECT_EQ(other.elsewhere, Rank{0});
  EXPECT_EQ(other.id, 7U);
  const ListedTask last = listed_task(remote_task(Rank{0x3f'ffff}, 1'000'000'000'000));
  EXPECT_EQ(last.elsewhere, Rank{0x3f'ffff});
  EXPECT_EQ(last.id, 1'000'000'000'000U);
  const ListedTask own = listed_task(1'000'000'000'000);
  EXPECT_FALSE(own.elsewhere);
  EXPECT_EQ(own.id, 1'000'000'000'000U);
}

}  // namespace
}  // namespace plait::trace::remote_task_test
