// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/fold.hpp"

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/replay/synthetic.hpp"

#include "replay/hand_made.hpp"
#include "replay/random_schedule.hpp"

namespace plait::replay::fold_test {
namespace {

std::uint64_t bytes_sent(const CarriedOut& result) {
  std::uint64_t bytes = 0;
  for (const auto& [message, times] : result.messages) {
    bytes += std::get<2>(message) * static_cast<std::uint64_t>(times);
  }
  return bytes;
}

TEST(Fold, lets_neighbours_share_a_rank_and_keeps_all_messages) {
  const Schedule schedule = synthetic_schedule("pattern=all-to-all,ranks=8,steps=3,mean=100").value();
  const Schedule folded = fold(schedule, 3).value();
  EXPECT_EQ(folded.ranks.size(), 3);
  EXPECT_EQ(folded.ranks[0].streams.size(), 3);
  EXPECT_EQ(folded.ranks[2].streams.size(), 2);
  const auto result = carry_out(folded);
  EXPECT_TRUE(result.is_finished) << result.stuck;
  EXPECT_EQ(bytes_sent(result), 3 * 8 * 7 * 100);
  EXPECT_EQ(result.messages.at({0, 0, 100}), 3 * 3 * 2);  // three ranks among themselves
}

TEST(Fold, keeps_that_threads_wait_for_each_other) {
  Schedule schedule = two_threads();
  schedule.ranks.insert(schedule.ranks.begin(), {RankSchedule{}, RankSchedule{}});
  for (std::size_t i = 0; i < 2; ++i) {
    schedule.ranks[i].streams.push_back({.name = "nothing"});
  }
  for (RankSchedule& rank : schedule.ranks) {
    for (Stream& stream : rank.streams) {
      for (Operation& operation : stream.operations) {
        operation.peer += operation.peer == trace::nothing ? 0 : 2;
      }
    }
  }
  const Schedule folded = fold(schedule, 1).value();
  ASSERT_EQ(folded.ranks[0].streams.size(), 5U);
  EXPECT_EQ(folded.ranks[0].streams[2].others[0].stream, 3U);
  const auto result = carry_out(folded);
  EXPECT_TRUE(result.is_finished) << result.stuck;
}

TEST(Fold, carries_out_exchanges_put_together_by_chance) {
  Random random{11};
  for (int i = 0; i < 150; ++i) {
    const auto ranks = 1 + static_cast<std::uint32_t>(random.below(7));
    const Schedule schedule = random_schedule(random, ranks, 100);
    const auto target = 1 + static_cast<std::uint32_t>(random.below(3 * ranks));
    const Schedule changed = onto_ranks(schedule, target).value();
    EXPECT_EQ(changed.ranks.size(), target);
    const auto result = carry_out(changed);
    ASSERT_TRUE(result.is_finished) << i << ", " << ranks << " onto " << target << ": " << result.stuck;
  }
}

TEST(Fold, tiles_with_the_same_messages_in_each_copy) {
  const Schedule schedule = synthetic_schedule("pattern=random,ranks=4,pairs=300,distribution=exponential").value();
  const auto once = carry_out(schedule);
  const auto thrice = carry_out(tile(schedule, 3).value());
  ASSERT_TRUE(thrice.is_finished);
  for (const auto& [message, times] : once.messages) {
    const auto [source, destination, bytes] = message;
    for (std::uint32_t copy = 0; copy < 3; ++copy) {
      EXPECT_EQ(thrice.messages.at({source + 4 * copy, destination + 4 * copy, bytes}), times);
    }
  }
}

TEST(Fold, enters_collectives_whose_data_does_not_grow_with_all_copies) {
  Schedule schedule;
  schedule.ranks.resize(2);
  for (RankSchedule& rank : schedule.ranks) {
    rank.streams.resize(1);
    rank.streams[0].operations = {
        {.action = Action::collective, .collective = Collective::all_reduce, .bytes = 8},
        {.action = Action::collective, .collective = Collective::all_gather, .bytes = 8},
        {.action = Action::collective, .collective = Collective::broadcast, .peer = 1, .bytes = 8}};
  }
  const Schedule tiled = tile(schedule, 2).value();
  const auto& operations = tiled.ranks[3].streams[0].operations;
  EXPECT_EQ(operations[0].communicator, 0);
  EXPECT_EQ(tiled.communicators.at(operations[1].communicator), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(operations[2].peer, 1);  // the root is in the first copy
  EXPECT_FALSE(tiled.notices.empty());
}

TEST(Fold, says_what_is_possible) {
  const Schedule schedule = synthetic_schedule("ranks=4").value();
  EXPECT_STREQ(fold(schedule, 0).error().what(), "an exchange of 4 ranks can be folded onto 1 to 4 ranks, not 0");
  EXPECT_FALSE(tile(schedule, 0));
  EXPECT_FALSE(tile(schedule, 1U << 22U));
}

}  // namespace
}  // namespace plait::replay::fold_test
