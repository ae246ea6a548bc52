// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/message_sides.hpp"

#include <set>

#include <gtest/gtest.h>

namespace plait::exports::message_sides_test {
namespace {

using trace::MessageDirection;
using trace::MessageEvent;

RankOfRun rank_with(std::uint32_t number, const std::vector<MessageEvent>& messages) {
  RankOfRun rank;
  rank.trace.rank = Rank{number};
  rank.trace.rank_count = 2;
  rank.trace.threads.push_back({WorkerId{0}, "main"});
  for (const MessageEvent& message : messages) {
    rank.trace.messages.push_back({0, message});
  }
  return rank;
}

MessageEvent by_order(MessageDirection direction, std::uint32_t peer, std::uint64_t tag, std::uint32_t call) {
  return {.direction = direction,
          .peer = Rank{peer},
          .sequence = call,
          .tag = Tag{tag},
          .is_matched_by_order = true,
          .posted = nanoseconds{10},
          .completed = nanoseconds{20}};
}

std::vector<std::uint64_t> flows(std::uint32_t rank, const std::vector<MessageEvent>& messages) {
  const RankOfRun of = rank_with(rank, messages);
  std::vector<std::uint64_t> found;
  for (const MessageSide& side : message_sides(of)) {
    found.push_back(side.flow);
  }
  return found;
}

TEST(MessageSides, both_sides_of_a_message_by_order_have_one_flow) {
  constexpr auto send = MessageDirection::sent;
  constexpr auto receive = MessageDirection::received;
  // In the order of completion. Of tag 7, calls 5 and 9 posted the sends, 2 and 3 the receives.
  const auto sent = flows(0, {by_order(send, 1, 7, 9), by_order(send, 1, 8, 6), by_order(send, 1, 7, 5)});
  const auto received = flows(1, {by_order(receive, 0, 7, 2), by_order(receive, 0, 8, 4), by_order(receive, 0, 7, 3)});
  EXPECT_EQ(sent[2], received[0]);
  EXPECT_EQ(sent[0], received[2]);
  EXPECT_EQ(sent[1], received[1]);
  EXPECT_EQ(std::set(sent.begin(), sent.end()).size(), 3U);
}

TEST(MessageSides, both_sides_of_a_numbered_message_have_one_flow) {
  const MessageEvent send{.peer = Rank{1}, .sequence = 4, .tag = Tag{1}, .posted = nanoseconds{10}};
  MessageEvent receive = send;
  receive.direction = MessageDirection::received;
  receive.peer = Rank{0};
  MessageEvent next = receive;
  next.sequence = 5;
  const auto received = flows(1, {receive, next});
  EXPECT_EQ(flows(0, {send})[0], received[0]);
  EXPECT_NE(received[0], received[1]);
}

TEST(MessageSides, times_that_are_not_known_are_those_beside_them) {
  const MessageEvent handed{.peer = Rank{1}, .tag = Tag{1}, .handed = nanoseconds{30}, .arrived = nanoseconds{50}};
  const RankOfRun rank = rank_with(0, {handed});
  const auto sides = message_sides(rank);
  EXPECT_EQ(sides[0].posted, 30U);
  EXPECT_EQ(sides[0].completed, 50U);
}

TEST(MessageSides, leaves_out_the_messages_of_the_runtime) {
  const MessageEvent own{.peer = Rank{1}, .communicator = 0xffff'fff0, .tag = Tag{1}};
  EXPECT_TRUE(message_sides(rank_with(0, {own})).empty());
}

}  // namespace
}  // namespace plait::exports::message_sides_test
