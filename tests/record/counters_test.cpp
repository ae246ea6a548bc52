// SPDX-License-Identifier: Apache-2.0
#include "plait/record/counters.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::record::counters_test {
namespace {

std::vector<CounterKind> wanted(const char* names) {
  ::setenv("PLAIT_RECORD_COUNTERS", names, 1);
  std::vector<CounterKind> kinds = counters_wanted();
  ::unsetenv("PLAIT_RECORD_COUNTERS");
  return kinds;
}

TEST(Counters, are_those_whose_names_are_given) {
  EXPECT_TRUE(counters_wanted().empty());
  EXPECT_TRUE(wanted("").empty());
  const std::vector<CounterKind> kinds = wanted("task-clock,page-faults");
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_STREQ(kinds[0].name, "task-clock");
  EXPECT_STREQ(kinds[1].name, "page-faults");
}

TEST(Counters, with_an_unknown_name_are_refused_with_all_names) {
  try {
    (void)wanted("instructions,flops");
    FAIL() << "there is no such counter";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("'flops'; there are instructions, cycles"), std::string::npos)
        << error.what();
  }
  ::unsetenv("PLAIT_RECORD_COUNTERS");
}

TEST(Counters, rise_with_the_work_of_their_thread) {
  std::unique_ptr<ThreadCounters> counters;
  try {
    counters = std::make_unique<ThreadCounters>(wanted("task-clock"));
  } catch (const Error& error) {
    // The kernel or a container may forbid counters (perf_event_paranoid); the sentence names which.
    GTEST_SKIP() << error.what();
  }
  const std::uint64_t before = counters->read().at(0);
  std::atomic<std::uint64_t> value = 1;
  for (int i = 0; i < 1'000'000; ++i) {
    value.store(value.load(std::memory_order_relaxed) * 5 + 1, std::memory_order_relaxed);
  }
  EXPECT_GT(counters->read().at(0), before + 100'000);  // a million steps take more than 100 microseconds
}

TEST(Counters, that_the_kernel_does_not_give_are_refused_with_the_reason) {
  const std::array kinds = {CounterKind{.name = "made up", .type = 0xFFFF, .number = 1}};
  EXPECT_THROW(ThreadCounters{kinds}, Error);
}

}  // namespace
}  // namespace plait::record::counters_test
