// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/broadcast.hpp"

#include "comm/collectives/many_ranks.hpp"
#include "comm/loopback_ranks.hpp"

namespace plait::comm::broadcast_test {
namespace {

using test::code_of;
using test::ManyRanks;
using test::pattern;

class Broadcast : public testing::TestWithParam<BroadcastWay> {};

TEST_P(Broadcast, brings_the_data_of_the_root_to_each_member) {
  test::for_many_ranks(8, [](ManyRanks& ranks) {
    const std::vector<Group> groups = ranks.groups();
    const std::size_t root = ranks.below(ranks.size());
    const std::size_t bytes = ranks.some_size();
    const Bytes sent = pattern(bytes, 1);
    std::vector<Bytes> data(ranks.size(), pattern(bytes, 2));
    data[root] = sent;
    std::vector<Request> requests;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks.stagger();
      requests.push_back(
          broadcast(groups[rank], root, std::span{data[rank]}, {.way = GetParam(), .piece_bytes = 1000}));
    }
    ranks.settle(requests);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ASSERT_EQ(code_of(requests[rank]), std::nullopt);
      ASSERT_EQ(data[rank], sent);
    }
  });
}

TEST_P(Broadcast, keeps_several_under_way_apart) {
  ManyRanks ranks{5, 3};
  const std::vector<Group> groups = ranks.groups();
  constexpr std::size_t count = 6;
  std::vector<std::vector<Bytes>> data(ranks.size());
  std::vector<Request> requests;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (unsigned i = 0; i < count; ++i) {
      data[rank].push_back(pattern(500 * i, rank == i % 5 ? i : 100));
    }
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t i = 0; i < count; ++i) {
      requests.push_back(
          broadcast(groups[rank], i % 5, std::span{data[rank][i]}, {.way = GetParam(), .piece_bytes = 300}));
    }
  }
  ranks.settle(requests);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_EQ(data[rank][i], pattern(500 * i, i));
    }
  }
}

TEST_P(Broadcast, ends_with_an_error_where_another_size_is_meant) {
  for (const std::size_t wrong : {0U, 10U, 999U, 1000U, 5000U, 9000U}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      ManyRanks ranks{4, seed};
      const std::vector<Group> groups = ranks.groups();
      std::vector<Bytes> data(4, Bytes(3500));
      data[2].resize(wrong);
      std::vector<Request> requests;
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        requests.push_back(broadcast(groups[rank], 0, std::span{data[rank]}, {.way = GetParam(), .piece_bytes = 500}));
      }
      ranks.settle(requests);
      EXPECT_NE(code_of(requests[2]), std::nullopt) << wrong << " seed " << seed;
      EXPECT_EQ(code_of(requests[0]), std::nullopt);
      EXPECT_EQ(code_of(requests[1]), std::nullopt);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Broadcast, testing::Values(BroadcastWay::multicast, BroadcastWay::pipelined));

TEST(BroadcastArguments, name_a_member_as_root) {
  ManyRanks ranks{2, 0};
  Bytes data(4);
  EXPECT_THROW((void)broadcast(Group(ranks[0], world), 2, std::span{data}), Error);
  EXPECT_THROW((void)broadcast(Group(ranks[0], world), 0, std::span{data}, {.piece_bytes = 0}), Error);
}

TEST(BroadcastChoice, pipelines_long_data_among_many) {
  constexpr std::size_t piece = 1000;
  EXPECT_EQ(choose_broadcast(2, 1'000'000, piece), BroadcastWay::multicast);
  EXPECT_EQ(choose_broadcast(8, 1'000'000, piece), BroadcastWay::pipelined);
  EXPECT_EQ(choose_broadcast(8, 7000, piece), BroadcastWay::multicast);
  EXPECT_EQ(choose_broadcast(100'000, 1'000'000, piece), BroadcastWay::multicast);
}

}  // namespace
}  // namespace plait::comm::broadcast_test
