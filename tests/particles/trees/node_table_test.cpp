// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/node_table.hpp"

#include <gtest/gtest.h>

namespace plait::particles::node_table_test {
namespace {

void fill(NodeTable& table, std::uint32_t count, float from) {
  const std::uint32_t first = table.add(count);
  for (std::uint32_t i = first; i < first + count; ++i) {
    const float value = from + static_cast<float>(i);
    table.nodes()[i].mass = value;
    table.extents()[i].mass = static_cast<double>(value);
    table.signs()[i].weight = static_cast<double>(value);
    table.moments()[2 * i] = static_cast<std::byte>(i);
    table.moments()[2 * i + 1] = std::byte{7};
  }
}

TEST(NodeTable, has_the_columns_of_its_start_only) {
  NodeTable table;
  table.start({.signs = true, .motions = true, .moment_bytes = 12});
  EXPECT_EQ(table.add(3), 0U);
  EXPECT_EQ(table.add(2), 3U);
  EXPECT_EQ(table.signs().size(), 5U);
  EXPECT_EQ(table.motions().size(), 5U);
  EXPECT_EQ(table.moments().size(), 60U);
  EXPECT_TRUE(table.reaches().empty());
  table.motions()[4].x = 3;
  table.start({.reaches = true});
  table.add(7);
  EXPECT_EQ(table.nodes().size(), 7U);
  EXPECT_EQ(table.reaches().size(), 7U);
  EXPECT_TRUE(table.signs().empty());
  EXPECT_TRUE(table.moments().empty());
  table.start({.motions = true});
  table.add(9);
  EXPECT_EQ(table.motions()[4].x, 0) << "motions are zero until they are found";
}

TEST(NodeTable, keeps_nodes_while_it_grows_and_copies_all_columns) {
  const NodeTable::Columns columns{.signs = true, .moment_bytes = 2};
  NodeTable from;
  NodeTable to;
  from.start(columns);
  to.start(columns);
  fill(to, 40, 0);
  for (int times = 0; times < 10; ++times) {
    fill(from, 10, 1000);
  }
  to.copy(from, 20, 10, 30);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const bool is_copied = i >= 30;
    const float value = is_copied ? 990 + static_cast<float>(i) : static_cast<float>(i);
    ASSERT_EQ(to.nodes()[i].mass, value);
    ASSERT_EQ(to.extents()[i].mass, static_cast<double>(value));
    ASSERT_EQ(to.signs()[i].weight, static_cast<double>(value));
    ASSERT_EQ(to.moments()[2 * i], static_cast<std::byte>(is_copied ? i - 10 : i));
    ASSERT_EQ(to.moments()[2 * i + 1], std::byte{7});
  }
}

}  // namespace
}  // namespace plait::particles::node_table_test
