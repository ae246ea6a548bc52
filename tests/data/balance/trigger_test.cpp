// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/trigger.hpp"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::data::balance::trigger_test {
namespace {

TEST(Trigger, goes_on_when_nothing_is_known_of_the_cost) {
  const Trigger trigger{{.horizon = 10}};
  EXPECT_TRUE(trigger.before_deciding(2, 1, 1).is_worth_it);
  EXPECT_TRUE(trigger.before_moving(2, 1.99, 1e9).is_worth_it);
  EXPECT_FALSE(trigger.before_moving(2, 2, 0).is_worth_it);
}

TEST(Trigger, weighs_the_gain_over_the_horizon_against_what_balancing_took) {
  Trigger trigger{{.horizon = 10}};
  trigger.learn_deciding(2);
  trigger.learn_moving(3, 1e6);
  EXPECT_DOUBLE_EQ(trigger.deciding_cost(), 2);
  EXPECT_DOUBLE_EQ(trigger.moving_cost(2e6), 6);
  EXPECT_TRUE(trigger.before_deciding(1.3, 1, 1).is_worth_it);   // gains 3 s, deciding takes 2
  EXPECT_FALSE(trigger.before_deciding(1.1, 1, 1).is_worth_it);  // gains 1 s
  const Verdict verdict = trigger.before_moving(1.3, 1.1, 1e6);  // gains 2 s, moving takes 3
  EXPECT_FALSE(verdict.is_worth_it);
  EXPECT_NEAR(verdict.gain, 2, 1e-12);
  EXPECT_NEAR(verdict.cost, 3, 1e-12);
  EXPECT_EQ(verdict.reason, "over 10 phases it would gain 2 s, and cost 3 s");
  EXPECT_TRUE(trigger.before_moving(1.3, 1.1, 0.5e6).is_worth_it);
}

TEST(Trigger, learns_a_fixed_part_and_a_rate_and_forgets_old_times) {
  Trigger trigger{{.memory = 4}};
  for (const double bytes : {1e6, 2e6, 3e6}) {
    trigger.learn_moving(0.5 + 1e-6 * bytes, bytes);
  }
  EXPECT_NEAR(trigger.moving_cost(10e6), 10.5, 1e-6);
  EXPECT_NEAR(trigger.moving_cost(0), 0.5, 1e-6);
  for (int i = 0; i < 60; ++i) {
    trigger.learn_moving(2e-6 * 1e6, 1e6);
    trigger.learn_deciding(i < 30 ? 5 : 1);
  }
  EXPECT_NEAR(trigger.moving_cost(1e6), 2, 0.01);
  EXPECT_NEAR(trigger.deciding_cost(), 1, 0.01);
}

TEST(Trigger, says_why_nothing_is_done) {
  const Trigger strict{{.imbalance_min = 0.1}};
  EXPECT_EQ(strict.before_deciding(1.05, 1, 1).reason, "the imbalance is 0.05, below the 0.1 from which on it matters");
  EXPECT_EQ(Trigger{}.before_deciding(1, 1, 1).reason, "no placement is better than the present one");
  Trigger taught;
  taught.learn_deciding(100);
  EXPECT_EQ(taught.before_deciding(2, 1, 1).reason,
            "even the best placement would not pay: over 10 phases it would gain 10 s, and cost 100 s");
  EXPECT_THROW(Trigger{{.horizon = -1}}, Error);
  EXPECT_THROW(Trigger{{.margin = std::nan("")}}, Error);
  EXPECT_THROW(Trigger{{.memory = 0}}, Error);
}

}  // namespace
}  // namespace plait::data::balance::trigger_test
