// SPDX-License-Identifier: Apache-2.0
#include "plait/base/spin_lock.hpp"

#include <algorithm>
#include <chrono>
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

TEST(ContentionPause, becomes_longer_and_ends_when_it_is_over) {
  ContentionPause contention;
  const auto time_of = [&] {
    const auto start = std::chrono::steady_clock::now();
    contention.pause();
    return std::chrono::steady_clock::now() - start;
  };
  nanoseconds length = ContentionPause::shortest;
  for (int pause = 0; pause < 6; ++pause) {
    EXPECT_GE(time_of(), length);
    length = std::min(2 * length, ContentionPause::longest);
  }
  int questions = 0;
  contention.pause([&] { return ++questions == 2; });
  EXPECT_EQ(questions, 2);
}

}  // namespace
}  // namespace plait::spin_lock_test
