// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/all_to_all.hpp"

#include <gtest/gtest.h>

#include "comm/loopback_ranks.hpp"

namespace plait::comm {
namespace {

using test::LoopbackRanks;

TEST(AllToAll, brings_each_member_its_block_of_each) {
  constexpr std::uint32_t rank_count = 3;
  LoopbackRanks ranks{rank_count};
  std::vector<std::vector<int>> to(rank_count);
  std::vector<std::vector<int>> from(rank_count, std::vector<int>(rank_count));
  std::vector<Request> requests;
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    const int tens = static_cast<int>(rank) * 10;
    to[rank] = {tens, tens + 1, tens + 2};
    const Group group{ranks[rank], world};
    requests.push_back(all_to_all(group, std::span<const int>{to[rank]}, std::span{from[rank]}));
  }
  ranks.until([&] { return std::ranges::all_of(requests, &Request::is_complete); });
  EXPECT_EQ(from[0], (std::vector{0, 10, 20}));
  EXPECT_EQ(from[1], (std::vector{1, 11, 21}));
  EXPECT_EQ(from[2], (std::vector{2, 12, 22}));
}

}  // namespace
}  // namespace plait::comm
