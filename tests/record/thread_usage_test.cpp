// SPDX-License-Identifier: Apache-2.0
#include "plait/record/thread_usage.hpp"

#include <atomic>
#include <sched.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace plait::record::thread_usage_test {
namespace {

TEST(ThreadUsage, has_the_time_that_a_thread_computed) {
  const ThreadUsage before = usage_of(::gettid());
  std::atomic<std::uint64_t> value = 1;
  ThreadUsage now;
  do {
    for (int i = 0; i < 1'000'000; ++i) {
      value.store(value.load(std::memory_order_relaxed) * 5 + 1, std::memory_order_relaxed);
    }
    now = usage_of(::gettid());
  } while (now.processor_time != nanoseconds{} && now.processor_time <= before.processor_time);
  if (now.processor_time == nanoseconds{}) {
    // /proc/PID/schedstat is zero or absent without CONFIG_SCHED_INFO; the recorder then leaves these records out.
    GTEST_SKIP() << "this kernel has no statistics of its scheduler";
  }
  EXPECT_GT(now.processor_time, before.processor_time);
  EXPECT_GE(now.waiting_for_core, before.waiting_for_core);
}

TEST(ThreadUsage, of_no_thread_is_empty) {
  const ThreadUsage usage = usage_of(-1);
  EXPECT_EQ(usage.processor_time, nanoseconds{});
  EXPECT_EQ(usage.involuntary_switches, 0U);
}

TEST(AllowedCores, are_those_of_the_affinity_mask) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(allowed_core_count(), static_cast<unsigned>(CPU_COUNT(&before)));
  int first = 0;
  while (!CPU_ISSET(first, &before)) {
    ++first;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(allowed_core_count(), 1U);
  ::sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace plait::record::thread_usage_test
