// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "contention/lock_model.hpp"

namespace bench::contention_lock_model_test {
namespace {

constexpr double tolerance = 0.01;

TEST(LockModel, one_thread_takes_the_sum_of_its_sections) {
  EXPECT_NEAR(message_rate({{3, -1}, {1, 0}}, 1, 5), 0.25, tolerance * 0.25) << "a lock of its own is not handed over";
}

TEST(LockModel, threads_share_what_is_outside_of_locks) {
  EXPECT_NEAR(message_rate({{4, -1}}, 8, 5), 2, tolerance * 2);
}

TEST(LockModel, a_lock_serves_one_thread_at_a_time) {
  EXPECT_NEAR(message_rate({{3, -1}, {1, 0}}, 16, 0), 1, tolerance);
  EXPECT_NEAR(message_rate({{3, -1}, {1, 0}}, 16, 1), 0.5, tolerance) << "each time handed over";
}

TEST(LockModel, two_locks_serve_two_threads) {
  EXPECT_NEAR(message_rate({{1, 0}, {1, 1}}, 2, 0), 1, tolerance);
  EXPECT_NEAR(message_rate({{1, 0}, {1, 0}}, 2, 0), 0.5, tolerance);
  EXPECT_NEAR(message_rate({{1, 0}, {3, 1}}, 16, 0), 1.0 / 3, tolerance) << "the longer section decides";
}

}  // namespace
}  // namespace bench::contention_lock_model_test
