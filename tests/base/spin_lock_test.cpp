// SPDX-License-Identifier: Apache-2.0
#include "plait/base/spin_lock.hpp"

#include <mutex>
#include <vector>

#include <gtest/gtest.h>

namespace plait::spin_lock_test {
namespace {

TEST(SpinLock, lets_one_in_at_a_time) {
  SpinLock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
}

TEST(SpinLock, protects_what_several_threads_change) {
  SpinLock lock;
  int count = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20'000; ++i) {
          const std::lock_guard inside{lock};
          ++count;
        }
      });
    }
  }
  EXPECT_EQ(count, 80'000);
}

}  // namespace
}  // namespace plait::spin_lock_test
