// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/seat.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace plait::task::seat_test {
namespace {

using detail::Seat;

TEST(Seat, is_one_threads_at_a_time) {
  Seat seat;
  int count = 0;  // unprotected but by the seat
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 500; ++n) {
          seat.take();
          EXPECT_TRUE(seat.is_mine());
          ++count;
          seat.leave();
          EXPECT_FALSE(seat.is_mine());
        }
      });
    }
  }
  EXPECT_EQ(count, 2000);
}

TEST(Seat, is_lent_to_a_thread_that_wishes_it) {
  Seat seat;
  ASSERT_TRUE(seat.try_take());
  std::atomic<bool> has_had_it = false;
  std::jthread other{[&] {
    EXPECT_FALSE(seat.try_take());
    seat.take();
    has_had_it = true;
    seat.leave();
  }};
  while (!has_had_it) {
    if (seat.is_wished()) {
      seat.lend();
      EXPECT_TRUE(seat.is_mine());
    }
  }
  EXPECT_TRUE(seat.is_mine());
}

}  // namespace
}  // namespace plait::task::seat_test
