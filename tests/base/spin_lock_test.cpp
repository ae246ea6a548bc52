// SPDX-License-Identifier: Apache-2.0
#include "plait/base/spin_lock.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/topology.hpp"

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

TEST(SpinLock, serves_a_thread_that_has_waited_for_long_before_one_that_yields_under_the_lock) {
  constexpr int turns_max = 20'000;  // 7 are usual, and more where other processes take the core
  const int core = usable_cores().front();
  SpinLock lock;
  std::atomic<bool> has_begun = false;
  std::atomic<bool> has_come = false;
  std::atomic<bool> has_ended = false;
  int turns = 0;
  {
    const std::jthread waiting{[&] {
      bind_to_core(core);
      has_begun.wait(false);
      has_come = true;
      const std::lock_guard inside{lock};
      has_ended = true;
    }};
    const std::jthread polling{[&] {
      bind_to_core(core);
      for (; turns < turns_max && !has_ended; turns += has_come ? 1 : 0) {
        if (lock.try_lock()) {
          has_begun = true;
          has_begun.notify_all();
          std::this_thread::yield();
          lock.unlock();
        } else {
          std::this_thread::yield();
        }
      }
    }};
  }
  EXPECT_LT(turns, turns_max);
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
