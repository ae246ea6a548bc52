// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/barrier.hpp"

#include "comm/collectives/many_ranks.hpp"

namespace plait::comm::barrier_test {
namespace {

using test::ManyRanks;

TEST(Barrier, ends_nowhere_before_the_last_member_has_called_it) {
  test::for_many_ranks(4, [](ManyRanks& ranks) {
    const std::vector<Group> groups = ranks.groups();
    const std::size_t last = ranks.below(ranks.size());
    std::vector<Request> requests;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (rank != last) {
        requests.push_back(barrier(groups[rank]));
      }
    }
    for (int turns = 0; turns < 1000; ++turns) {
      ranks.turn();
    }
    EXPECT_TRUE(std::ranges::none_of(requests, &Request::is_complete));
    requests.push_back(barrier(groups[last]));
    ranks.settle(requests);
  });
}

TEST(Barrier, of_one_call_does_not_end_another) {
  ManyRanks ranks{2, 0};
  const std::vector<Group> groups = ranks.groups();
  std::vector<Request> first{barrier(groups[0])};
  Request second = barrier(groups[0]);
  first.push_back(barrier(groups[1]));
  ranks.settle(first);
  for (int turns = 0; turns < 100; ++turns) {
    ranks.turn();
  }
  EXPECT_FALSE(second.is_complete());
  ranks.settle({second, barrier(groups[1])});
}

}  // namespace
}  // namespace plait::comm::barrier_test
