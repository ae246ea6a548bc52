// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/part.hpp"

#include <gtest/gtest.h>

#include "replay/hand_made.hpp"

namespace plait::replay::part_test {
namespace {

TEST(RankPart, has_what_its_rank_does) {
  HandMade made{2};
  made.get().communicators[3] = {1, 0};
  made.get().length = nanoseconds{77};
  made.wait(0, {made.send(0, 1, 9, 100)});
  made.wait(1, {made.receive(1, 0, 9, 100)});
  const std::vector<RankPart> parts = divide(made.get());
  const RankPart& part = parts.at(1);
  EXPECT_EQ(part.self, Rank{1});
  EXPECT_EQ(part.rank_count, 2U);
  EXPECT_EQ(part.length, nanoseconds{77});
  EXPECT_EQ(part.tag_max, 9U);
  EXPECT_EQ(part.communicators.at(3), (std::vector<std::uint32_t>{1, 0}));
  ASSERT_EQ(part.schedule.streams.size(), 1U);
  const Stream& stream = part.schedule.streams[0];
  EXPECT_EQ(stream.name, "main");
  EXPECT_EQ(stream.waited, (std::vector<std::uint32_t>{0}));
  ASSERT_EQ(stream.operations.size(), 2U);
  EXPECT_EQ(stream.operations[0].action, Action::receive);
  EXPECT_EQ(stream.operations[0].bytes, 100U);
}

std::vector<std::uint64_t> tags_in(const Stream& stream) {
  std::vector<std::uint64_t> tags;
  for (const Operation& operation : stream.operations) {
    tags.push_back(operation.tag);
  }
  return tags;
}

TEST(RankPart, gives_messages_that_several_streams_post_tags_of_their_own) {
  HandMade made{2};
  made.send(0, 1, 9, 100);
  made.send(0, 1, 9, 200);
  made.send(0, 1, 9, 300);
  made.send(0, 1, 5, 400);
  made.receive(1, 0, 9, 100);  // the second one is posted by another thread, between these
  made.receive(1, 0, 5, 400);
  made.receive(1, 0, 9, 300);
  std::vector<Stream>& streams = made.get().ranks[1].streams;
  Operation second = streams[0].operations[0];
  second.bytes = 200;
  second.at += nanoseconds{1};
  streams.push_back({.name = "other", .operations = {second}});
  const std::vector<RankPart> parts = divide(made.get());
  EXPECT_EQ(tags_in(parts[0].schedule.streams[0]), (std::vector<std::uint64_t>{10, 11, 12, 5}));
  EXPECT_EQ(tags_in(parts[1].schedule.streams[0]), (std::vector<std::uint64_t>{10, 5, 12}));
  EXPECT_EQ(tags_in(parts[1].schedule.streams[1]), (std::vector<std::uint64_t>{11}));
  EXPECT_EQ(parts[0].tag_max, 12U);
}

TEST(RankPart, tells_each_rank_what_it_gets_of_a_vector_collective) {
  HandMade made{3};
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const auto operation = made.add(
        rank, {.action = Action::collective, .collective = Collective::all_to_all, .bytes = 60, .bytes_got = 60});
    if (rank == 1) {
      made.shares(rank, operation, {10, 20, 30});
    }
  }
  const std::vector<RankPart> parts = divide(made.get());
  const RankPart::Where first{0, 0};
  EXPECT_EQ(parts[2].shares.at(first).got, (std::vector<std::uint64_t>{20, 30, 20}));
  EXPECT_EQ(parts[1].shares.at(first).given, (std::vector<std::uint64_t>{10, 20, 30}));
}

TEST(RankPart, has_no_shares_where_all_are_the_same) {
  HandMade made{2};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    made.add(rank, {.action = Action::collective, .collective = Collective::all_gather, .bytes = 8, .bytes_got = 16});
  }
  EXPECT_TRUE(divide(made.get())[0].shares.empty());
}

TEST(RankPart, knows_only_its_own_communicators) {
  HandMade made{2};
  made.get().communicators[4] = {1};
  const std::vector<RankPart> parts = divide(made.get());
  EXPECT_TRUE(parts[0].communicators.empty());
  EXPECT_EQ(parts[1].communicators.size(), 1U);
}

TEST(RankPart, tells_which_collectives_all_members_wait_for_at_once) {
  HandMade made{2};
  const Operation barrier{.action = Action::collective, .collective = Collective::barrier};
  made.wait(0, {made.add(0, barrier)});
  made.wait(1, {made.add(1, barrier)});
  const std::uint32_t by_one = made.add(0, barrier);
  made.wait(0, {by_one});
  const std::uint32_t later = made.add(1, barrier);
  made.add(1, {.action = Action::poll});
  made.wait(1, {later});
  const std::uint32_t message = made.send(0, 1, 1, 8);
  made.wait(0, {message, made.add(0, barrier)});
  made.wait(1, {made.receive(1, 0, 1, 8)});
  made.wait(1, {made.add(1, barrier)});
  const std::set<RankPart::Where> first{{0, 0}};
  for (const RankPart& part : divide(made.get())) {
    EXPECT_EQ(part.waited_by_all, first);
  }
  made.get().ranks[1].streams.push_back({.name = "second"});
  for (const RankPart& part : divide(made.get())) {
    EXPECT_TRUE(part.waited_by_all.empty()) << "a rank of several streams never waits inside a collective";
  }
}

}  // namespace
}  // namespace plait::replay::part_test
