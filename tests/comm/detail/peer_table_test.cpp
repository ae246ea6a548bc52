// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/peer_table.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace plait::comm::detail::peer_table_test {
namespace {

using Table = PeerTable<std::uint32_t>;

TEST(PeerTable, stores_pages_of_accessed_peers_only) {
  std::vector<std::uint32_t> made;
  Table table{1'000'000, [&made](Rank rank) {
                made.push_back(rank.value());
                return rank.value();
              }};
  EXPECT_TRUE(made.empty());
  EXPECT_EQ(table[Rank{500'000}], 500'000U);
  EXPECT_EQ(table[Rank{500'000 + Table::page_size - 1}], 500'000U + Table::page_size - 1);
  ASSERT_EQ(made.size(), Table::page_size);
  EXPECT_EQ(made.front(), 500'000U);
}

TEST(PeerTable, keeps_entries_in_their_places) {
  Table table{1000, [](Rank) { return 0U; }};
  std::uint32_t& entry = table[Rank{7}];
  entry = 5;
  for (std::uint32_t rank = 0; rank < 1000; ++rank) {
    if (rank != 7) {
      table[Rank{rank}] = rank;
    }
  }
  EXPECT_EQ(&table[Rank{7}], &entry);
  EXPECT_EQ(entry, 5U);
}

TEST(PeerTable, makes_entries_of_ranks_of_the_run_only) {
  constexpr std::uint32_t peer_count = Table::page_size + 3;
  std::uint32_t made = 0;
  Table table{peer_count, [&](Rank rank) {
                EXPECT_LT(rank.value(), peer_count);
                return ++made;
              }};
  (void)table[Rank{peer_count - 1}];
  EXPECT_EQ(made, 3U);
}

TEST(PeerTable, visits_the_entries_that_are_stored) {
  Table table{1000, [](Rank) { return 0U; }};
  table[Rank{1}] = 3;
  table[Rank{999}] = 4;
  std::uint32_t sum = 0;
  std::uint32_t count = 0;
  table.for_each([&](std::uint32_t entry) {
    sum += entry;
    ++count;
  });
  EXPECT_EQ(sum, 7U);
  EXPECT_EQ(count, 2 * Table::page_size);
}

}  // namespace
}  // namespace plait::comm::detail::peer_table_test
