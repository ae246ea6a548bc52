// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/match_by_order.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plait::trace::match_by_order_test {
namespace {

MessageEvent posted(MessageDirection direction, std::uint32_t peer, std::uint64_t tag, std::uint32_t number) {
  return {.direction = direction, .peer = Rank{peer}, .sequence = number, .tag = Tag{tag}, .is_matched_by_order = true};
}

MessageEvent sent(std::uint32_t to, std::uint64_t tag, std::uint32_t number) {
  return posted(MessageDirection::sent, to, tag, number);
}

MessageEvent received(std::uint32_t from, std::uint64_t tag, std::uint32_t number) {
  return posted(MessageDirection::received, from, tag, number);
}

/// Sequence numbers of each rank's messages, in the order in which they were recorded.
std::vector<std::vector<std::uint32_t>> match(const std::vector<std::vector<MessageEvent>>& messages) {
  std::vector<RankTrace> ranks;
  for (const std::vector<MessageEvent>& of_rank : messages) {
    RankTrace& rank = ranks.emplace_back();
    rank.rank = Rank{static_cast<std::uint32_t>(ranks.size() - 1)};
    for (const MessageEvent& message : of_rank) {
      rank.messages.push_back({0, message});
    }
  }
  match_by_order(ranks);
  std::vector<std::vector<std::uint32_t>> sequences;
  for (const RankTrace& rank : ranks) {
    auto& of_rank = sequences.emplace_back();
    for (const auto& message : rank.messages) {
      of_rank.push_back(message.event.sequence);
    }
  }
  return sequences;
}

TEST(MatchByOrder, takes_the_order_of_posting_and_not_that_of_completion) {
  // Recorded as they completed: the second was posted first.
  const auto sequences = match({{sent(1, 5, 12), sent(1, 5, 10)}, {received(0, 5, 3), received(0, 5, 2)}});
  EXPECT_EQ(sequences, (std::vector<std::vector<std::uint32_t>>{{1, 0}, {1, 0}}));
}

TEST(MatchByOrder, keeps_tags_sources_and_communicators_apart) {
  const auto sequences = match({{sent(2, 1, 1), sent(2, 2, 2), sent(1, 1, 3)},
                                {sent(2, 2, 1), received(0, 1, 9)},
                                {received(1, 2, 1), received(0, 2, 2), received(0, 1, 3)}});
  EXPECT_EQ(sequences, (std::vector<std::vector<std::uint32_t>>{{0, 1, 0}, {0, 0}, {0, 1, 0}}));
}

TEST(MatchByOrder, numbers_receives_that_nobody_sent_as_no_send_is) {
  const auto sequences = match({{sent(1, 1, 1)}, {received(0, 1, 1), received(0, 1, 2), received(0, 7, 3)}});
  EXPECT_EQ(sequences[1][0], 0);
  EXPECT_GE(sequences[1][1], sent_by_nobody);
  EXPECT_GE(sequences[1][2], sent_by_nobody);
  EXPECT_NE(sequences[1][1], sequences[1][2]);
}

TEST(MatchByOrder, leaves_other_messages_alone) {
  MessageEvent message = sent(0, 1, 41);
  message.is_matched_by_order = false;
  EXPECT_EQ(match({{message}})[0][0], 41);
}

}  // namespace
}  // namespace plait::trace::match_by_order_test
