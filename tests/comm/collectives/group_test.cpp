// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/group.hpp"

#include "comm/collectives/many_ranks.hpp"

namespace plait::comm::group_test {
namespace {

using test::ManyRanks;

constexpr CommId comm{7};

ErrorCode code_thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::io;  // nothing was thrown: no check expects this
}

TEST(Group, keeps_the_order_of_its_members) {
  ManyRanks ranks{4, 0};
  const Group group{ranks[2], {Rank{3}, Rank{0}, Rank{2}}, comm};
  EXPECT_EQ(group.size(), 3);
  EXPECT_EQ(group.self(), 2);
  EXPECT_EQ(group.rank(0), Rank{3});
  EXPECT_EQ(group.comm(), comm);
}

TEST(Group, has_the_same_members_whether_they_are_a_range_or_not) {
  ManyRanks ranks{7, 0};
  const std::vector<std::vector<Rank>> orders{{Rank{1}, Rank{3}, Rank{5}},
                                              {Rank{5}, Rank{3}, Rank{1}},
                                              {Rank{3}},
                                              {Rank{2}, Rank{3}, Rank{6}},
                                              {Rank{6}, Rank{3}, Rank{2}}};
  for (const std::vector<Rank>& members : orders) {
    const Group group{ranks[3], members, comm};
    ASSERT_EQ(group.size(), members.size());
    for (std::size_t member = 0; member < members.size(); ++member) {
      EXPECT_EQ(group.rank(member), members[member]);
    }
    EXPECT_EQ(members[group.self()], Rank{3});
  }
}

TEST(GroupMembers, stores_no_ranks_at_equal_distances) {
  EXPECT_TRUE(GroupMembers(std::vector{Rank{1}, Rank{4}, Rank{7}}).is_range());
  EXPECT_TRUE(GroupMembers(std::vector{Rank{7}, Rank{4}, Rank{1}}).is_range());
  EXPECT_FALSE(GroupMembers(std::vector{Rank{1}, Rank{4}, Rank{8}}).is_range());
  EXPECT_FALSE(GroupMembers(std::vector{Rank{1}, Rank{0}, Rank{2}}).is_range());
}

TEST(Group, has_members_that_are_ranks_and_differ) {
  ManyRanks ranks{2, 0};
  EXPECT_EQ(code_thrown([&] { const Group group(ranks[0], {Rank{0}, Rank{2}}, comm); }), ErrorCode::bad_argument);
  EXPECT_EQ(code_thrown([&] { const Group group(ranks[0], {Rank{0}, Rank{}}, comm); }), ErrorCode::bad_argument);
  EXPECT_EQ(code_thrown([&] { const Group group(ranks[0], {Rank{0}, Rank{0}}, comm); }), ErrorCode::bad_argument);
}

TEST(Group, has_the_rank_that_makes_it_among_its_members) {
  ManyRanks ranks{2, 0};
  EXPECT_EQ(code_thrown([&] { const Group group(ranks[0], {Rank{1}}, comm); }), ErrorCode::bad_argument);
  EXPECT_EQ(code_thrown([&] { const Group group(ranks[0], std::vector<Rank>{}, comm); }), ErrorCode::bad_argument);
}

TEST(Group, leaves_the_upper_communicators_to_its_collectives) {
  ManyRanks ranks{1, 0};
  EXPECT_EQ(code_thrown([&] { const Group group(ranks[0], CommId{collective_bit}); }), ErrorCode::bad_argument);
  EXPECT_EQ(Group(ranks[0], CommId{collective_bit - 1}).size(), 1);
}

TEST(Group, makes_rows_and_columns_of_a_grid) {
  ManyRanks ranks{6, 0};
  const GroupGrid grid{.rows = 2, .columns = 3};
  const Group row = row_group(ranks[4], grid, comm);
  ASSERT_EQ(row.size(), 3);
  EXPECT_EQ(row.rank(0), Rank{3});
  EXPECT_EQ(row.self(), 1);
  const Group column = column_group(ranks[4], grid, comm);
  ASSERT_EQ(column.size(), 2);
  EXPECT_EQ(column.rank(0), Rank{1});
  EXPECT_EQ(column.self(), 1);
}

TEST(Group, refuses_a_grid_that_does_not_hold_the_ranks) {
  ManyRanks ranks{6, 0};
  EXPECT_EQ(code_thrown([&] { (void)row_group(ranks[0], {.rows = 2, .columns = 2}, comm); }), ErrorCode::bad_argument);
  EXPECT_EQ(code_thrown([&] { (void)column_group(ranks[0], {}, comm); }), ErrorCode::bad_argument);
}

}  // namespace
}  // namespace plait::comm::group_test
