// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/nodes.hpp"

#include <gtest/gtest.h>

#include "plait/comm/collectives/group.hpp"

#include "comm/loopback_ranks.hpp"

namespace plait::comm::nodes_test {
namespace {

using test::LoopbackRanks;

TEST(Nodes, give_groups_the_members_of_each_node) {
  LoopbackRanks ranks{5};
  Nodes::set(ranks[3], {4, 2, 4, 2, 2});
  const Group group{ranks[3], {Rank{4}, Rank{0}, Rank{3}}, world};
  ASSERT_NE(group.nodes(), nullptr);
  EXPECT_EQ(group.nodes()->members, (std::vector<std::vector<std::size_t>>{{0, 2}, {1}}));
  EXPECT_EQ(group.nodes()->own, 0U);
}

TEST(Nodes, are_left_out_of_groups_on_one_node_and_of_groups_with_one_member_on_each) {
  LoopbackRanks ranks{4};
  Nodes::set(ranks[0], {0, 0, 1, 1});
  EXPECT_EQ(Group(ranks[0], {Rank{0}, Rank{1}}, world).nodes(), nullptr);
  EXPECT_EQ(Group(ranks[0], {Rank{0}, Rank{2}}, world).nodes(), nullptr);
  EXPECT_EQ(Group(ranks[1], world).nodes(), nullptr) << "this rank knows no nodes";
}

TEST(Nodes, are_one_number_for_each_rank) {
  LoopbackRanks ranks{3};
  EXPECT_THROW(Nodes::set(ranks[0], {0, 1}), Error);
  EXPECT_THROW(Nodes::set(ranks[0], {0, 1, 3}), Error);
  EXPECT_TRUE(Nodes::of(ranks[0]).empty());
}

}  // namespace
}  // namespace plait::comm::nodes_test
