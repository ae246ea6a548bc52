// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plait/trace/match_by_order.hpp"

#include "record/run.hpp"

namespace plait::record::test::point_to_point_test {
namespace {

using trace::CallClass;
using trace::CallEvent;
using trace::MessageDirection;
using trace::MessageEvent;

/// (tag, bytes) of each message of the program, in the order in which it is posted.
const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected = {
    {1, 80}, {2, 160}, {3, 240}, {4, 320}, {4, 320}, {4, 320}, {5, 400}, {6, 120}};

class PointToPoint : public testing::TestWithParam<int> {};

TEST_P(PointToPoint, tells_every_message_with_its_true_peer_size_and_tag) {
  const trace::RunTrace run = recorded("point_to_point", GetParam());
  const auto size = static_cast<std::uint32_t>(GetParam());
  ASSERT_EQ(run.ranks.size(), size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    for (const MessageDirection direction : {MessageDirection::sent, MessageDirection::received}) {
      const std::vector<MessageEvent> messages = messages_of(run.ranks[rank], direction);
      std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
      for (const MessageEvent& message : messages) {
        found.emplace_back(message.tag.value(), message.bytes);
        const std::uint32_t peer = direction == MessageDirection::sent ? (rank + 1) % size : (rank + size - 1) % size;
        EXPECT_EQ(message.peer.value(), peer);
        EXPECT_FALSE(message.is_unfinished);
        EXPECT_LE(message.posted, message.completed);
      }
      EXPECT_EQ(found, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ranks, PointToPoint, testing::Values(1, 2, 4));

TEST(Calls, tell_what_they_do_where_and_how_much) {
  const trace::RunTrace run = recorded("point_to_point", 2);
  ASSERT_EQ(run.ranks.size(), 2U);
  const trace::RankTrace& rank = run.ranks[1];
  EXPECT_EQ(run.meta.recorder, "mpi");
  EXPECT_TRUE(run.meta.ended.has_value());

  const std::vector<CallEvent> sends = calls_of(rank, "MPI_Isend");
  ASSERT_EQ(sends.size(), 2U);
  EXPECT_EQ(sends[0].what, CallClass::begins_message);
  EXPECT_EQ(sends[0].bytes_given, 80U);
  EXPECT_EQ(sends[0].peer, 0U);
  EXPECT_EQ(sends[0].communicator, 0U);
  EXPECT_TRUE(rank.name(trace::Role::call_site, sends[0].site).starts_with("point_to_point+0x"));
  EXPECT_NE(sends[0].site, sends[1].site);

  const std::vector<CallEvent> waits = calls_of(rank, "MPI_Waitall");
  ASSERT_EQ(waits.size(), 4U);
  EXPECT_EQ(waits[0].count, 2U);
  EXPECT_EQ(waits[1].site, waits[2].site);
  ASSERT_FALSE(calls_of(rank, "MPI_Wait").empty());
  EXPECT_EQ(calls_of(rank, "MPI_Wait").front().count, 0U);

  const std::vector<CallEvent> starts = calls_of(rank, "MPI_Startall");
  ASSERT_EQ(starts.size(), 3U);
  EXPECT_EQ(starts[0].number + 2, waits[1].number);
  EXPECT_EQ(calls_of(rank, "MPI_Init").size(), 1U);
  EXPECT_EQ(calls_of(rank, "MPI_Finalize").size(), 1U);
  EXPECT_EQ(rank.clocks.size(), 2U);
}

}  // namespace
}  // namespace plait::record::test::point_to_point_test
