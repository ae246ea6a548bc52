// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/all_to_all.hpp"

#include "comm/collectives/many_ranks.hpp"
#include "comm/loopback_ranks.hpp"

namespace plait::comm::all_to_all_test {
namespace {

using test::code_of;
using test::ManyRanks;
using test::pattern;

/// Blocks of random sizes among all members of groups with the same ranks: in[i][j] goes from i to j, into out[j][i].
class Exchange {
 public:
  Exchange(ManyRanks& ranks, std::vector<Group> groups) : groups_{std::move(groups)} {
    const std::size_t size = groups_.size();
    in_.resize(size);
    out_.resize(size, std::vector<Bytes>(size));
    for (std::size_t from = 0; from < size; ++from) {
      for (std::size_t to = 0; to < size; ++to) {
        in_[from].push_back(pattern(ranks.some_size(), static_cast<unsigned>(from * 31 + to)));
        out_[to][from] = Bytes(in_[from][to].size());
      }
    }
  }

  Request start(std::size_t member, AllToAllWay way) {
    return all_to_all(groups_[member],
                      BlocksToSend(in_[member].begin(), in_[member].end()),
                      BlocksToReceive(out_[member].begin(), out_[member].end()),
                      way);
  }

  void check() const {
    for (std::size_t from = 0; from < in_.size(); ++from) {
      for (std::size_t to = 0; to < in_.size(); ++to) {
        ASSERT_EQ(out_[to][from], in_[from][to]) << from << " to " << to;
      }
    }
  }

 private:
  std::vector<Group> groups_;
  std::vector<std::vector<Bytes>> in_;
  std::vector<std::vector<Bytes>> out_;
};

class AllToAll : public testing::TestWithParam<AllToAllWay> {};

TEST_P(AllToAll, brings_blocks_of_any_sizes_to_their_members) {
  test::for_many_ranks(8, [](ManyRanks& ranks) {
    Exchange exchange{ranks, ranks.groups()};
    std::vector<Request> requests;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks.stagger();
      requests.push_back(exchange.start(rank, GetParam()));
    }
    ranks.settle(requests);
    for (const Request& request : requests) {
      ASSERT_EQ(code_of(request), std::nullopt);
    }
    exchange.check();
  });
}

TEST_P(AllToAll, keeps_rows_and_columns_under_way_at_once_apart) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    ManyRanks ranks{6, seed};
    const GroupGrid grid{.rows = 2, .columns = 3};
    std::vector<std::unique_ptr<Exchange>> exchanges;
    std::vector<std::pair<Exchange*, std::pair<std::size_t, std::uint32_t>>> starts;  // which, member, rank
    const auto add = [&](std::vector<std::uint32_t> members, CommId comm) {
      std::vector<Group> groups;
      for (const std::uint32_t rank : members) {
        groups.push_back(comm == CommId{1} ? row_group(ranks[rank], grid, comm)
                                           : column_group(ranks[rank], grid, comm));
      }
      for (int times = 0; times < 3; ++times) {
        exchanges.push_back(std::make_unique<Exchange>(ranks, groups));
        for (std::size_t member = 0; member < members.size(); ++member) {
          starts.push_back({exchanges.back().get(), {member, members[member]}});
        }
      }
    };
    add({0, 1, 2}, CommId{1});
    add({3, 4, 5}, CommId{1});
    add({0, 3}, CommId{2});
    add({1, 4}, CommId{2});
    add({2, 5}, CommId{2});
    std::vector<Request> requests;
    for (const auto& [exchange, who] : starts) {
      ranks.stagger();
      requests.push_back(exchange->start(who.first, GetParam()));
    }
    ranks.settle(requests);
    for (const auto& exchange : exchanges) {
      exchange->check();
    }
  }
}

TEST_P(AllToAll, leaves_the_programs_own_messages_alone) {
  ManyRanks ranks{2, 0};
  const std::vector<Group> groups = ranks.groups();
  Bytes got(3);
  Request received = ranks[1].receive({any_source, any_tag}, std::span{got});
  Exchange exchange{ranks, groups};
  ranks.settle({exchange.start(0, GetParam()), exchange.start(1, GetParam())});
  exchange.check();
  EXPECT_FALSE(received.is_complete());
  const Bytes own = pattern(3, 1);
  ranks.settle({received, ranks[0].send({Rank{1}, Tag{0}}, own)});
  EXPECT_EQ(got, own);
}

TEST_P(AllToAll, ends_with_an_error_where_another_size_is_expected_and_nowhere_hangs) {
  for (const std::size_t wrong : {0U, 1U, 999U, 1000U, 2500U, 30'000U}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE(testing::Message() << wrong << " bytes, seed " << seed);
      ManyRanks ranks{4, seed};
      const std::vector<Group> groups = ranks.groups();
      std::vector<Bytes> in(4, pattern(4 * 2000, 1));
      std::vector<Bytes> out(4, Bytes(3 * 2000 + 30'000));
      std::vector<Request> requests;
      for (std::size_t rank = 0; rank < 4; ++rank) {
        const std::vector<std::size_t> sent(4, 2000);
        std::vector<std::size_t> expected = sent;
        if (rank == 2) {
          expected[0] = wrong;
        }
        std::size_t sum = 0;
        for (const std::size_t bytes : expected) {
          sum += bytes;
        }
        requests.push_back(all_to_all(groups[rank],
                                      blocks_of(std::span<const std::byte>{in[rank]}, sent),
                                      blocks_of(std::span<std::byte>{out[rank]}.first(sum), expected),
                                      GetParam()));
      }
      ranks.settle(requests);
      EXPECT_NE(code_of(requests[2]), std::nullopt);
      EXPECT_EQ(code_of(requests[0]), std::nullopt);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, AllToAll, testing::Values(AllToAllWay::direct, AllToAllWay::pairwise));

TEST(AllToAllArguments, make_one_block_a_member) {
  ManyRanks ranks{2, 0};
  const Group group{ranks[0], world};
  Bytes bytes(7);
  const std::span<const std::byte> to{bytes};
  const std::span<std::byte> from{bytes};
  EXPECT_THROW((void)all_to_all(group, to, from), Error);
  EXPECT_THROW((void)all_to_all(group, to.first(4), from.first(6)), Error);
  EXPECT_THROW((void)all_to_all(group, BlocksToSend{to}, BlocksToReceive{from, from}), Error);
}

TEST(AllToAllArguments, cut_data_by_counts_of_elements) {
  const Bytes bytes(12);
  const BlocksToSend blocks = blocks_of(std::span<const std::byte>{bytes}, std::vector<std::size_t>{1, 0, 2}, 4);
  ASSERT_EQ(blocks.size(), 3);
  EXPECT_EQ(blocks[0].size(), 4);
  EXPECT_EQ(blocks[1].size(), 0);
  EXPECT_EQ(blocks[2].data(), bytes.data() + 4);
  const std::span<const std::byte> all{bytes};
  EXPECT_THROW((void)blocks_of(all, std::vector<std::size_t>{1, 1}, 4), Error);
  // 2^62 elements of 4 bytes would be none, counted in 64 bits.
  EXPECT_THROW((void)blocks_of(all, std::vector<std::size_t>{std::size_t{1} << 62U, 3}, 4), Error);
}

TEST(AllToAllChoice, exchanges_long_blocks_among_many_in_rounds) {
  EXPECT_EQ(choose_all_to_all(4, 1'000'000), AllToAllWay::direct);
  EXPECT_EQ(choose_all_to_all(1000, 100), AllToAllWay::direct);
  EXPECT_EQ(choose_all_to_all(1000, 1'000'000), AllToAllWay::pairwise);
}

}  // namespace
}  // namespace plait::comm::all_to_all_test
