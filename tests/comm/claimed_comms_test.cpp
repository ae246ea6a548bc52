// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/claimed_comms.hpp"

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/detail/comm_claims.hpp"
#include "plait/comm/endpoint.hpp"

#include "comm/loopback_ranks.hpp"

namespace plait::comm::claimed_comms_test {
namespace {

using test::LoopbackRanks;

TEST(ClaimedComms, no_two_claims_share_a_communicator) {
  LoopbackRanks ranks{1};
  std::set<CommId> seen;
  std::vector<ClaimedComms> claims;
  for (const std::uint32_t count : {1U, 5U, 0U, 3U}) {
    const ClaimedComms& claim = claims.emplace_back(ranks[0].claim_comms(count));
    ASSERT_EQ(claim.size(), count);
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_TRUE(seen.insert(claim[i]).second);
      EXPECT_GE(claim[i], first_claimed_comm);
      EXPECT_LT(claim[i].value(), collective_bit);
    }
  }
  claims.clear();
  EXPECT_TRUE(seen.insert(ranks[0].claim_comms(1)[0]).second) << "an id is never handed out again";
}

TEST(ClaimedComms, are_the_same_on_every_rank) {
  LoopbackRanks ranks{2};
  for (const std::uint32_t count : {2U, 7U}) {
    EXPECT_EQ(ranks[0].claim_comms(count)[0], ranks[1].claim_comms(count)[0]);
  }
}

TEST(ClaimedComms, keep_messages_of_two_claims_apart) {
  LoopbackRanks ranks{2};
  const auto claim = [&] {
    std::vector<ClaimedComms> both;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      both.push_back(ranks[rank].claim_comms(1));
    }
    return both;
  };
  const std::vector<ClaimedComms> first = claim();
  const std::vector<ClaimedComms> second = claim();
  int from_first = 0;
  Request receive = ranks[1].receive({Rank{0}, Tag{1}, first[1][0]}, std::as_writable_bytes(std::span{&from_first, 1}));
  const int other = 2;
  const int right = 1;
  ranks[0].send({Rank{1}, Tag{1}, second[0][0]}, std::as_bytes(std::span{&other, 1})).wait();
  ranks[0].send({Rank{1}, Tag{1}, first[0][0]}, std::as_bytes(std::span{&right, 1})).wait();
  ranks.until([&] { return receive.is_complete(); });
  EXPECT_EQ(from_first, right);
}

TEST(ClaimedComms, end_with_the_object_that_was_moved_to) {
  LoopbackRanks ranks{1};
  detail::CommClaims claims;
  ClaimedComms first = ranks[0].claim_comms(2);
  const CommId id = first[0];
  ClaimedComms second = std::move(first);
  EXPECT_EQ(second[0], id);
  second = ClaimedComms{};
  EXPECT_EQ(second.size(), 0U);
}

TEST(ClaimedComms, a_group_without_a_communicator_claims_one) {
  LoopbackRanks ranks{2};
  std::vector<Group> groups;
  for (int i = 0; i < 2; ++i) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      groups.emplace_back(ranks[rank]);
    }
  }
  EXPECT_EQ(groups[0].comm(), groups[1].comm());
  EXPECT_NE(groups[0].comm(), groups[2].comm());
  const Request one = barrier(groups[0]);
  const Request other = barrier(groups[1]);
  ranks.until([&] { return one.is_complete() && other.is_complete(); });
}

TEST(ClaimedComms, ranks_that_claim_in_different_orders_are_told_so) {
  if (!has_checks) {
    GTEST_SKIP() << "claims are compared only in builds with checks";
  }
  LoopbackRanks ranks{2};
  const ClaimedComms on_first = ranks[0].claim_comms(1);
  const ClaimedComms only_there = ranks[1].claim_comms(1);
  int number = 0;
  const Request receive =
      ranks[1].receive({Rank{0}, Tag{1}, only_there[0]}, std::as_writable_bytes(std::span{&number, 1}));
  ranks[0].send({Rank{1}, Tag{1}, on_first[0]}, std::as_bytes(std::span{&number, 1})).wait();
  ranks.until([&] { return ranks[1].failure().has_value(); });
  const std::string sentence = ranks[1].failure()->what();
  EXPECT_NE(sentence.find("claimed communicators in different orders"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("claimed_comms_test.cpp"), std::string::npos) << sentence;
}

TEST(CommClaims, know_the_digest_of_a_claim_until_it_ends) {
  detail::CommClaims mine;
  detail::CommClaims theirs;
  const auto where = std::source_location::current();
  const CommId first = mine.claim(2, where);
  ASSERT_EQ(theirs.claim(2, where), first);
  EXPECT_NE(mine.digest(first), 0U);
  EXPECT_EQ(mine.digest(first), theirs.digest(first));
  EXPECT_EQ(mine.digest(CommId{first.value() | collective_bit}), mine.digest(first));
  EXPECT_EQ(mine.digest(CommId{first.value() + 2}), 0U);
  EXPECT_EQ(mine.digest(internal), 0U);
  EXPECT_NE(mine.where(first).find("claimed_comms_test.cpp"), std::string::npos);
  mine.release(first);
  EXPECT_EQ(mine.digest(first), 0U);
  EXPECT_NE(mine.digest(mine.claim(1, where)), theirs.digest(theirs.claim(2, where)));
}

TEST(CommClaims, refuse_what_is_not_left) {
  detail::CommClaims claims;
  const auto where = std::source_location::current();
  EXPECT_THROW((void)claims.claim(collective_bit, where), Error);
  EXPECT_EQ(claims.claim(1, where), first_claimed_comm);
}

}  // namespace
}  // namespace plait::comm::claimed_comms_test
