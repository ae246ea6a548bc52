// SPDX-License-Identifier: Apache-2.0
// Collectives of ranks on threads of their own, and with several threads a rank: for the thread sanitizer.
#include <thread>

#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/collectives/broadcast.hpp"
#include "plait/comm/collectives/reduce.hpp"

#include "comm/collectives/many_ranks.hpp"

namespace plait::comm::threads_test {
namespace {

using test::ManyRanks;

constexpr std::uint32_t rank_count = 4;
constexpr int rounds = 20;

/// All collectives, some under way at once, on one group.
void play(const Group& group) {
  const std::size_t size = group.size();
  const auto self = static_cast<int>(group.self());
  for (int round = 0; round < rounds; ++round) {
    for (const AllToAllWay way : {AllToAllWay::direct, AllToAllWay::pairwise}) {
      const std::size_t block = round % 2 == 0 ? 10 : 5000;
      const std::vector<int> to(size * block, self + round);
      std::vector<int> from(size * block);
      Request exchanged = all_to_all(group, std::span{to}, std::span{from}, way);
      std::vector<int> sum(100, self);
      Request summed = all_reduce(group, std::span{sum}, Sum{}, round % 2 == 0 ? ReduceWay::tree : ReduceWay::halving);
      const std::size_t root = static_cast<std::size_t>(round) % size;
      std::vector<int> sent(1000, group.self() == root ? round : -1);
      Request received =
          broadcast(group,
                    root,
                    std::span{sent},
                    {.way = round % 2 == 0 ? BroadcastWay::multicast : BroadcastWay::pipelined, .piece_bytes = 500});
      std::vector<int> all(size);
      Request gathered = all_gather(group, std::span<const int>{&self, 1}, std::span{all}, AllGatherWay::doubling);
      barrier(group).wait();
      gathered.wait();
      received.wait();
      summed.wait();
      exchanged.wait();
      ASSERT_EQ(sent, std::vector<int>(1000, round));
      for (std::size_t member = 0; member < size; ++member) {
        ASSERT_EQ(all[member], static_cast<int>(member));
        ASSERT_EQ(from[member * block], static_cast<int>(member) + round);
        ASSERT_EQ(from[(member + 1) * block - 1], static_cast<int>(member) + round);
      }
      ASSERT_EQ(sum[0], static_cast<int>(size * (size - 1) / 2));
    }
  }
}

TEST(CollectiveThreads, play_with_one_thread_a_rank) {
  ManyRanks ranks{rank_count, 0};
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    threads.emplace_back([&ranks, rank] { play(Group{ranks[rank], world}); });
  }
}

TEST(CollectiveThreads, play_with_a_thread_for_rows_and_one_for_columns) {
  ManyRanks ranks{rank_count, 0};
  const GroupGrid grid{.rows = 2, .columns = 2};
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    threads.emplace_back([&ranks, grid, rank] { play(row_group(ranks[rank], grid, CommId{1})); });
    threads.emplace_back([&ranks, grid, rank] { play(column_group(ranks[rank], grid, CommId{2})); });
  }
}

}  // namespace
}  // namespace plait::comm::threads_test
