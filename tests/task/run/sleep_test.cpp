// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/sleep.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace plait::task::sleep_test {
namespace {

using detail::Sleep;

TEST(Sleep, ends_when_there_is_work_and_for_ever_when_told) {
  Sleep sleep;
  std::atomic<bool> has_work = false;
  std::atomic<int> woken = 0;
  std::jthread worker{[&] {
    while (sleep.until([&] { return has_work.exchange(false); })) {
      ++woken;
    }
  }};
  for (int i = 1; i <= 100; ++i) {
    has_work = true;
    sleep.wake_all_surely();
    while (woken < i) {
      std::this_thread::yield();
    }
  }
  sleep.end();
  worker.join();
  EXPECT_EQ(woken, 100);
  EXPECT_EQ(sleep.sleeping(), 0U);
}

TEST(Sleep, is_short_inside_a_run_and_none_when_the_worker_is_needed) {
  Sleep sleep;
  sleep.shortly(std::chrono::microseconds{1}, [] { return false; });
  sleep.shortly(std::chrono::hours{1}, [] { return true; });
}

TEST(Sleep, lets_a_thread_wait_until_no_worker_works) {
  Sleep sleep;
  sleep.wait_until_none_works();
  sleep.begin_work();
  std::atomic<bool> has_ended = false;
  std::jthread worker{[&] {
    has_ended = true;
    sleep.end_work();
  }};
  sleep.wait_until_none_works();
  EXPECT_TRUE(has_ended);
}

}  // namespace
}  // namespace plait::task::sleep_test
