// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/expand.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/replay/detail/stream_builder.hpp"

#include "replay/hand_made.hpp"
#include "replay/random_schedule.hpp"

namespace plait::replay::expand_test {
namespace {

/// One collective of all ranks, waited for at once.
Schedule one(Collective kind, std::uint32_t ranks, std::uint64_t bytes) {
  Schedule schedule;
  schedule.ranks.resize(ranks);
  for (RankSchedule& rank : schedule.ranks) {
    detail::StreamBuilder stream{rank.streams.emplace_back()};
    stream.begin({.action = Action::collective, .collective = kind, .peer = 0, .bytes = bytes});
    stream.wait_for_the_rest({});
  }
  return schedule;
}

std::size_t message_count(const CarriedOut& result) {
  std::size_t count = 0;
  for (const auto& [message, times] : result.messages) {
    count += static_cast<std::size_t>(times);
  }
  return count;
}

TEST(Expand, carries_out_every_collective_on_any_number_of_ranks) {
  for (int kind = 1; kind <= static_cast<int>(Collective::scan); ++kind) {
    for (const std::uint32_t ranks : {1U, 2U, 3U, 5U, 8U, 13U}) {
      const auto result = carry_out(without_collectives(one(static_cast<Collective>(kind), ranks, 640)));
      EXPECT_TRUE(result.is_finished) << kind << " on " << ranks << ": " << result.stuck;
      EXPECT_TRUE(result.collectives.empty());
    }
  }
}

TEST(Expand, takes_the_messages_that_the_usual_algorithms_take) {
  const auto count = [](Collective kind) { return message_count(carry_out(without_collectives(one(kind, 8, 640)))); };
  EXPECT_EQ(count(Collective::barrier), 8 * 3);
  EXPECT_EQ(count(Collective::broadcast), 7);
  EXPECT_EQ(count(Collective::reduce), 7);
  EXPECT_EQ(count(Collective::all_reduce), 8 * 3);
  EXPECT_EQ(count(Collective::all_gather), 8 * 3);
  EXPECT_EQ(count(Collective::all_to_all), 8 * 7);
  EXPECT_EQ(count(Collective::gather), 7);
  EXPECT_EQ(count(Collective::scan), 7 + 6 + 4);
}

TEST(Expand, gives_each_member_its_share) {
  Schedule schedule = one(Collective::all_to_all, 3, 90);
  for (RankSchedule& rank : schedule.ranks) {
    rank.streams[0].shares = {10, 30, 50};
    rank.streams[0].operations[0].count = 3;
  }
  const auto messages = carry_out(without_collectives(schedule)).messages;
  EXPECT_EQ(messages.at({0, 2, 50}), 1);
  EXPECT_EQ(messages.at({2, 0, 10}), 1);
}

TEST(Expand, keeps_that_threads_wait_for_each_other) {
  Schedule schedule = two_threads();
  for (RankSchedule& rank : schedule.ranks) {
    std::vector<Operation>& operations = rank.streams[0].operations;
    operations.insert(operations.begin(),
                      {.action = Action::collective, .collective = Collective::barrier, .peer = trace::nothing});
    for (std::uint32_t& waited : rank.streams[0].waited) {
      ++waited;
    }
  }
  schedule.ranks[0].streams[1].others[0].operation = 1;
  const Schedule expanded = without_collectives(schedule);
  const StreamPoint point = expanded.ranks[0].streams[1].others[0];
  EXPECT_EQ(expanded.ranks[0].streams[point.stream].operations[point.operation].action, Action::compute);
  const auto result = carry_out(expanded);
  EXPECT_TRUE(result.is_finished) << result.stuck;
}

TEST(Expand, keeps_everything_else_of_exchanges_put_together_by_chance) {
  Random random{7};
  for (int i = 0; i < 200; ++i) {
    const Schedule schedule = random_schedule(random, 1 + static_cast<std::uint32_t>(random.below(7)), 120);
    const auto before = carry_out(schedule);
    const auto after = carry_out(without_collectives(schedule));
    ASSERT_TRUE(before.is_finished) << i << ": " << before.stuck;
    ASSERT_TRUE(after.is_finished) << i << ": " << after.stuck;
    EXPECT_TRUE(after.collectives.empty());
    EXPECT_EQ(after.computed, before.computed);
    for (const auto& [message, times] : before.messages) {
      EXPECT_GE(after.messages.at(message), times) << i;
    }
  }
}

}  // namespace
}  // namespace plait::replay::expand_test
