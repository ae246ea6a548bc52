// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/all_gather.hpp"

#include "comm/collectives/many_ranks.hpp"
#include "comm/loopback_ranks.hpp"

namespace plait::comm::all_gather_test {
namespace {

using test::code_of;
using test::ManyRanks;
using test::pattern;

class AllGather : public testing::TestWithParam<AllGatherWay> {};

TEST_P(AllGather, brings_blocks_of_any_sizes_to_each_member) {
  test::for_many_ranks(8, [](ManyRanks& ranks) {
    const std::vector<Group> groups = ranks.groups();
    std::vector<Bytes> mine;
    for (unsigned rank = 0; rank < ranks.size(); ++rank) {
      mine.push_back(pattern(ranks.some_size(), rank));
    }
    std::vector<std::vector<Bytes>> all(ranks.size());
    std::vector<Request> requests;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      std::vector<std::span<std::byte>> blocks;
      all[rank].reserve(mine.size());
      for (const Bytes& block : mine) {
        blocks.emplace_back(all[rank].emplace_back(block.size()));
      }
      ranks.stagger();
      requests.push_back(all_gather(groups[rank], mine[rank], std::move(blocks), GetParam()));
    }
    ranks.settle(requests);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ASSERT_EQ(code_of(requests[rank]), std::nullopt);
      ASSERT_EQ(all[rank], mine);
    }
  });
}

TEST_P(AllGather, works_in_place) {
  ManyRanks ranks{3, 0};
  const std::vector<Group> groups = ranks.groups();
  std::vector<std::vector<int>> all(3, std::vector<int>(3));
  std::vector<Request> requests;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    all[rank][rank] = static_cast<int>(rank) + 10;
    const std::span<const int> mine{&all[rank][rank], 1};
    requests.push_back(all_gather(groups[rank], mine, std::span{all[rank]}, GetParam()));
  }
  ranks.settle(requests);
  EXPECT_EQ(all, std::vector(3, (std::vector{10, 11, 12})));
}

TEST_P(AllGather, ends_with_an_error_where_another_size_is_meant) {
  for (const std::size_t wrong : {0U, 10U, 3000U}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      ManyRanks ranks{5, seed};
      const std::vector<Group> groups = ranks.groups();
      std::vector<Bytes> all(5, Bytes(5 * 1000));
      const Bytes mine(1000);
      Bytes other(5 * wrong);
      std::vector<Request> requests;
      for (std::size_t rank = 0; rank < 4; ++rank) {
        requests.push_back(
            all_gather(groups[rank], std::span<const std::byte>{mine}, std::span<std::byte>{all[rank]}, GetParam()));
      }
      const std::span<const std::byte> wrong_block{other.data(), wrong};
      requests.push_back(all_gather(groups[4], wrong_block, std::span<std::byte>{other}, GetParam()));
      ranks.settle(requests);
      EXPECT_NE(code_of(requests[4]), std::nullopt);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways,
                         AllGather,
                         testing::Values(AllGatherWay::ring, AllGatherWay::doubling, AllGatherWay::by_node));

TEST(AllGatherArguments, have_room_for_a_block_of_each_member) {
  ManyRanks ranks{2, 0};
  const Group group{ranks[0], world};
  Bytes mine(4);
  Bytes all(7);
  EXPECT_THROW((void)all_gather(group, std::span<const std::byte>{mine}, std::span<std::byte>{all}), Error);
  EXPECT_THROW((void)all_gather(group, mine, std::vector<std::span<std::byte>>{all}), Error);
  EXPECT_THROW((void)all_gather(group, mine, std::vector<std::span<std::byte>>{all, all}), Error);
}

TEST(AllGatherChoice, goes_round_with_much_data) {
  EXPECT_EQ(choose_all_gather(1000), AllGatherWay::doubling);
  EXPECT_EQ(choose_all_gather(1'000'000), AllGatherWay::ring);
}

}  // namespace
}  // namespace plait::comm::all_gather_test
