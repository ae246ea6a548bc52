// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/change.hpp"

#include <cstdint>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/replay/synthetic.hpp"

#include "replay/hand_made.hpp"
#include "replay/random_schedule.hpp"

namespace plait::replay::change_test {
namespace {

TEST(Change, scales_sizes_of_both_sides_alike_and_leaves_none_empty) {
  Schedule schedule = synthetic_schedule("pattern=random,pairs=100,mean=3,distribution=exponential").value();
  scale_bytes(schedule, 0.25);
  const auto result = carry_out(schedule);
  EXPECT_TRUE(result.is_finished) << result.stuck;
  schedule.ranks[0].streams[0].operations.push_back({.action = Action::collective, .bytes = 10, .bytes_got = 1});
  schedule.ranks[0].streams[0].shares = {4, 0, 1};
  scale_bytes(schedule, 0.5);
  EXPECT_EQ(schedule.ranks[0].streams[0].operations.back().bytes, 5);
  EXPECT_EQ(schedule.ranks[0].streams[0].operations.back().bytes_got, 1);
  EXPECT_EQ(schedule.ranks[0].streams[0].shares, (std::vector<std::uint64_t>{2, 0, 1}));
}

TEST(Change, drops_computing_and_keeps_all_else) {
  Random random{3};
  for (int i = 0; i < 50; ++i) {
    Schedule schedule = random_schedule(random, 4, 100);
    const auto before = carry_out(schedule);
    scale_compute(schedule, 0);
    const auto after = carry_out(schedule);
    ASSERT_TRUE(after.is_finished) << after.stuck;
    EXPECT_EQ(after.computed, nanoseconds{});
    EXPECT_EQ(after.messages, before.messages);
    EXPECT_EQ(after.collectives, before.collectives);
  }
}

TEST(Change, keeps_what_another_thread_waits_for) {
  Schedule schedule = two_threads();
  schedule.ranks[0].streams[0].operations.insert(schedule.ranks[0].streams[0].operations.begin(),
                                                 {.action = Action::compute, .took = nanoseconds{1}});
  schedule.ranks[0].streams[1].others[0].operation = 1;
  scale_compute(schedule, 0);
  EXPECT_EQ(schedule.ranks[0].streams[0].operations.size(), 2U) << "one is left, and the wait";
  EXPECT_EQ(schedule.ranks[0].streams[1].others[0].operation, 0U);
  const auto result = carry_out(schedule);
  EXPECT_TRUE(result.is_finished) << result.stuck;
  EXPECT_EQ(result.computed, nanoseconds{});
}

TEST(Change, aggregates_all_messages_of_a_step_to_one_a_pair) {
  const Schedule schedule = synthetic_schedule("pattern=random,ranks=3,pairs=90,steps=2,mean=10").value();
  const auto result = carry_out(aggregated(schedule));
  ASSERT_TRUE(result.is_finished) << result.stuck;
  int count = 0;
  std::uint64_t bytes = 0;
  for (const auto& [message, times] : result.messages) {
    count += times;
    bytes += static_cast<std::uint64_t>(times) * std::get<2>(message);
  }
  EXPECT_EQ(count, 2 * 6);
  EXPECT_EQ(bytes, 2 * 90 * 10);
}

TEST(Change, aggregates_exchanges_put_together_by_chance_without_losing_a_byte) {
  Random random{5};
  for (int i = 0; i < 200; ++i) {
    const Schedule schedule = random_schedule(random, 2 + static_cast<std::uint32_t>(random.below(5)), 150);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> bytes;
    for (const auto& [message, times] : carry_out(schedule).messages) {
      bytes[{std::get<0>(message), std::get<1>(message)}] += static_cast<std::uint64_t>(times) * std::get<2>(message);
    }
    const auto after = carry_out(aggregated(schedule));
    ASSERT_TRUE(after.is_finished) << i << ": " << after.stuck;
    for (const auto& [message, times] : after.messages) {
      bytes[{std::get<0>(message), std::get<1>(message)}] -= static_cast<std::uint64_t>(times) * std::get<2>(message);
    }
    for (const auto& [pair, left] : bytes) {
      EXPECT_EQ(left, 0) << i;
    }
  }
}

}  // namespace
}  // namespace plait::replay::change_test
