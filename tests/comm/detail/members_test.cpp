// SPDX-License-Identifier: Apache-2.0
// The members of an engine that need no network.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "plait/comm/detail/credits.hpp"
#include "plait/comm/detail/handlers.hpp"
#include "plait/comm/detail/inbox.hpp"
#include "plait/comm/detail/rendezvous_sender.hpp"
#include "plait/comm/detail/rts_table.hpp"
#include "plait/comm/detail/sequences.hpp"

namespace plait::comm::detail::members_test {
namespace {

constexpr Rank r0{0};
constexpr Rank r1{1};

TEST(Credits, are_used_by_packets_and_returned_when_half_are_due) {
  Credits credits{2, 4};
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(credits.has(r1));
    credits.use(r1);
  }
  EXPECT_FALSE(credits.has(r1));
  EXPECT_TRUE(credits.has(r0));
  credits.add(r1, 2);
  EXPECT_TRUE(credits.has(r1));

  std::vector<Rank> returned;
  const auto note = [&](Rank peer) { returned.push_back(peer); };
  credits.note_processed(r0);
  credits.return_due(note);
  EXPECT_TRUE(returned.empty());
  EXPECT_FALSE(credits.has_processed());
  credits.note_processed(r0);
  credits.return_due(note);
  EXPECT_EQ(returned, std::vector{r0});
  EXPECT_EQ(credits.take_due(r0), 2U);
  EXPECT_EQ(credits.take_due(r0), 0U);
}

TEST(Sequences, count_each_peer_and_communicator_by_itself) {
  Sequences sequences{2};
  const CommId other{7};
  EXPECT_EQ(sequences.next_sent(r0, world), 0U);
  EXPECT_EQ(sequences.next_sent(r0, world), 1U);
  EXPECT_EQ(sequences.next_sent(r0, other), 0U);
  EXPECT_EQ(sequences.next_sent(r1, world), 0U);
  EXPECT_EQ(sequences.next_sent(r0, world), 2U);
}

TEST(Sequences, keep_messages_that_overtook_others) {
  Sequences sequences{1};
  Stream& stream = sequences.stream(r0, world);
  stream.early.emplace(1, Chunk{{.sequence = 1}, {}, r0});
  EXPECT_FALSE(stream.has_next());
  ++stream.next_received;
  ASSERT_TRUE(stream.has_next());
  EXPECT_EQ(stream.take_next().header.sequence, 1U);
  EXPECT_EQ(stream.next_received, 2U);
  EXPECT_FALSE(stream.has_next());
}

TEST(Sequences, forget_a_communicator_and_its_collectives) {
  Sequences sequences{1};
  const CommId claimed = first_claimed_comm;
  const CommId collectives{claimed.value() | collective_bit};
  for (const CommId comm : {world, claimed, collectives}) {
    (void)sequences.next_sent(r0, comm);
  }
  sequences.forget(claimed, 1);
  EXPECT_EQ(sequences.next_sent(r0, claimed), 0U);
  EXPECT_EQ(sequences.next_sent(r0, collectives), 0U);
  EXPECT_EQ(sequences.next_sent(r0, world), 1U);
}

TEST(RtsTable, finds_sends_by_numbers_that_come_once) {
  RtsTable table;
  Operation first;
  Operation second;
  const std::uint64_t one = table.add(first);
  EXPECT_EQ(table.find(one), &first);
  EXPECT_FALSE(table.is_empty());
  table.end(one);
  EXPECT_TRUE(table.is_empty());
  EXPECT_EQ(table.find(one), nullptr);
  const std::uint64_t two = table.add(second);
  EXPECT_NE(one, two);
  EXPECT_EQ(table.find(one), nullptr) << "the entry is reused, the number is not";
  EXPECT_EQ(table.find(two), &second);
  int visited = 0;
  table.for_each([&](Operation* send) { visited += send == &second ? 1 : 100; });
  EXPECT_EQ(visited, 1);
}

std::unique_ptr<Unexpected> unexpected(Tag tag, std::size_t bytes) {
  auto message = std::make_unique<Unexpected>();
  message->envelope = {world, r0, tag};
  message->memory_bytes = bytes;
  return message;
}

TEST(Inbox, asks_for_rendezvous_while_unexpected_messages_take_too_much) {
  Inbox inbox{1, 100};
  EXPECT_FALSE(inbox.keep(unexpected(Tag{1}, 60)));
  EXPECT_TRUE(inbox.has_room(r0, 40));
  EXPECT_FALSE(inbox.has_room(r0, 41));
  EXPECT_TRUE(inbox.keep(unexpected(Tag{2}, 60)));
  EXPECT_FALSE(inbox.keep(unexpected(Tag{3}, 1))) << "it was asked already";
  EXPECT_FALSE(inbox.free_memory(*inbox.claim({world, r0, Tag{1}}))) << "61 of 100 are more than half";
  EXPECT_TRUE(inbox.free_memory(*inbox.claim({world, r0, Tag{2}})));
  EXPECT_FALSE(inbox.free_memory(*inbox.claim({world, r0, Tag{3}})));
}

TEST(Inbox, gives_a_receive_the_oldest_message_that_fits) {
  Inbox inbox{1, 100};
  (void)inbox.keep(unexpected(Tag{1}, 0));
  (void)inbox.keep(unexpected(Tag{2}, 0));
  Operation any;
  any.envelope = {world, any_source, any_tag};
  EXPECT_EQ(inbox.probe(any.envelope)->envelope.tag, Tag{1});
  EXPECT_EQ(inbox.post(any)->envelope.tag, Tag{1});
  EXPECT_EQ(inbox.post(any)->envelope.tag, Tag{2});
  EXPECT_EQ(inbox.post(any), nullptr);
  EXPECT_EQ(inbox.match({world, r0, Tag{9}}), &any);
  EXPECT_EQ(inbox.match({world, r0, Tag{9}}), nullptr);
  EXPECT_FALSE(inbox.cancel(any));
}

TEST(Handlers, are_found_by_chosen_and_claimed_ids) {
  Handlers handlers;
  const HandlerId chosen{3};
  const HandlerId claimed = handlers.claim();
  EXPECT_NE(handlers.claim(), claimed);
  EXPECT_GE(claimed, Handlers::first_claimed);
  EXPECT_EQ(handlers.find(chosen), nullptr);
  handlers.set(chosen, [](const ActiveMessage&) {});
  handlers.set(claimed, [](const ActiveMessage&) {});
  EXPECT_NE(handlers.find(chosen), nullptr);
  EXPECT_NE(handlers.find(claimed), handlers.find(chosen));
  handlers.remove(claimed);
  EXPECT_EQ(handlers.find(claimed), nullptr);
  EXPECT_EQ(handlers.find(HandlerId{100}), nullptr);
}

}  // namespace
}  // namespace plait::comm::detail::members_test
