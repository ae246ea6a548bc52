// SPDX-License-Identifier: Apache-2.0
#include "plait/record/pending.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace plait::record::pending_test {
namespace {

TEST(Pending, counts_what_is_in_flight_and_who_is_inside) {
  Pending pending;
  EXPECT_FALSE(pending.is_any_in_flight());
  EXPECT_FALSE(pending.is_any_inside());
  pending.begin();
  pending.begin();
  pending.end();
  EXPECT_TRUE(pending.is_any_in_flight());
  pending.end();
  EXPECT_FALSE(pending.is_any_in_flight());
  pending.enter();
  EXPECT_TRUE(pending.is_any_inside());
  pending.leave();
  EXPECT_FALSE(pending.is_any_inside());
  EXPECT_EQ(pending.entry_count(), 1U);
}

TEST(Pending, does_not_wait_while_something_is_in_flight) {
  Pending pending;
  pending.begin();
  pending.await_first();
  EXPECT_FALSE(pending.is_over());
}

TEST(Pending, the_first_operation_ends_the_wait) {
  Pending pending;
  std::jthread sleeper{[&] {
    while (!pending.is_any_in_flight()) {
      pending.await_first();
    }
  }};
  pending.begin();
  sleeper.join();
  EXPECT_TRUE(pending.is_any_in_flight());
}

TEST(Pending, the_end_ends_the_wait_and_allows_no_other) {
  Pending pending;
  std::jthread sleeper{[&] {
    while (!pending.is_over()) {
      pending.await_first();
    }
  }};
  pending.finish();
  sleeper.join();
  pending.await_first();
  EXPECT_TRUE(pending.is_over());
}

}  // namespace
}  // namespace plait::record::pending_test
