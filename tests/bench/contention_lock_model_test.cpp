// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "contention/lock_model.hpp"

namespace bench::contention_lock_model_test {
namespace {

constexpr double tolerance = 0.01;

TEST(LockModel, one_thread_takes_the_sum_of_its_sections) {
  EXPECT_NEAR(message_rate({{3, false}, {1, true}}, 1, {.handover = 5}), 0.25, tolerance * 0.25)
      << "nothing is handed over";
}

TEST(LockModel, threads_share_what_is_outside_of_the_lock) {
  EXPECT_NEAR(message_rate({{4, false}}, 8, {.handover = 5}), 2, tolerance * 2);
}

TEST(LockModel, the_lock_serves_one_thread_at_a_time) {
  const LockCosts free{.pause_min = 0.07, .pause_max = 0.07};
  EXPECT_NEAR(message_rate({{3, false}, {1, true}}, 16, free), 1, 5 * tolerance);
}

TEST(LockModel, a_holder_that_is_left_alone_keeps_the_lock) {
  const std::vector<Section> sections{{0.5, false}, {1, true}};
  const double alone = message_rate(sections, 1, {});
  EXPECT_LT(message_rate(sections, 2, {.handover = 1, .pause_min = 0.3, .pause_max = 0.3}), 0.9 * alone);
  EXPECT_GT(message_rate(sections, 2, {.handover = 1, .pause_min = 50, .pause_max = 50}), 0.95 * alone);
}

TEST(LockModel, attempts_cost_the_holder) {
  const LockCosts costs{.attempt = 0.5, .pause_min = 1.1, .pause_max = 1.1};
  EXPECT_LT(message_rate({{1, true}}, 2, costs), 0.9);
}

TEST(LockModel, handover_is_found_by_the_rate) {
  const std::vector<Section> sections{{1, false}, {2, true}};
  LockCosts costs{.handover = 3, .attempt = 0.2, .pause_min = 1, .pause_max = 4};
  const double rate = message_rate(sections, 2, costs);
  costs.handover = handover_of(sections, 2, costs, rate, 0.5);
  EXPECT_NEAR(message_rate(sections, 2, costs), rate, tolerance * rate);
}

}  // namespace
}  // namespace bench::contention_lock_model_test
