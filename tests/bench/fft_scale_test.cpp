// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "fft_scale/column.hpp"

namespace fft_scale {
namespace {

using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""ms;
using plait::nanoseconds;

constexpr Machine machine{.cost = {.latency = 2us, .overhead = 1us, .gap = 1us, .per_byte_ns = 2},
                          .processor = 300ns,
                          .looks_every = 20us,
                          .look = 1us};

TEST(FftScale, one_rank_that_meets_its_own_messages_takes_as_long_as_all_of_them) {
  for (const std::uint32_t ranks : {2U, 5U, 12U}) {
    for (const Order order : {Order::nothing, Order::after, Order::unobserved, Order::before, Order::as_it_comes}) {
      const Exchange exchange{.ranks = ranks, .block_bytes = 4096, .work = 31us, .order = order};
      EXPECT_EQ(time_of(exchange, machine, Method::symmetry), time_of(exchange, machine, Method::every_rank))
          << ranks << " ranks, order " << static_cast<int>(order);
    }
  }
}

TEST(FftScale, waiting_before_working_takes_the_sum_of_both) {
  Exchange exchange{.ranks = 9, .block_bytes = 4096};
  const nanoseconds communication = time_of(exchange, machine, Method::symmetry);
  EXPECT_GT(communication, 8 * 2 * 4096ns);
  exchange.work = 1ms;
  exchange.order = Order::after;
  EXPECT_EQ(time_of(exchange, machine, Method::symmetry), communication + 1ms);
}

TEST(FftScale, looking_at_the_network_hides_what_the_send_queue_alone_does_not) {
  Exchange exchange{.ranks = 200, .block_bytes = 4096};  // more than a driver takes at once
  exchange.work = time_of(exchange, machine, Method::symmetry);
  const auto hidden = [&](Order order) {
    exchange.order = order;
    const nanoseconds total = time_of(exchange, machine, Method::symmetry);
    return static_cast<double>((2 * exchange.work - total).count()) / static_cast<double>(exchange.work.count());
  };
  const double tasks = hidden(Order::as_it_comes);
  EXPECT_GT(tasks, 0.8);
  EXPECT_LE(tasks, 1.0);
  EXPECT_GT(hidden(Order::before), 0.7);
  EXPECT_LT(hidden(Order::unobserved), 0.5);
}

}  // namespace
}  // namespace fft_scale
