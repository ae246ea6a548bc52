// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/rank_blocks.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace plait::particles::rank_blocks_test {
namespace {

const std::vector<DomainGrid> grids{
    {1, 1, 1}, {7, 1, 1}, {33, 1, 1}, {4, 4, 4}, {5, 3, 3}, {100, 2, 1}, {11, 7, 5}, {32, 32, 16}};

TEST(RankBlocks, each_block_is_the_child_of_its_parent_only) {
  for (const DomainGrid& grid : grids) {
    const RankBlocks blocks{grid, 4};
    EXPECT_LE(blocks.count(blocks.top()), 4);
    for (std::size_t level = 1; level <= blocks.top(); ++level) {
      std::set<std::uint32_t> all;
      for (std::uint32_t block = 0; block < blocks.count(level); ++block) {
        const std::vector<std::uint32_t> children = blocks.children(level, block);
        EXPECT_EQ(children.size(), blocks.child_count(level, block));
        EXPECT_LE(children.size(), 8);
        for (const std::uint32_t child : children) {
          EXPECT_EQ(blocks.parent(level - 1, child), block);
          EXPECT_TRUE(all.insert(child).second);
        }
      }
      EXPECT_EQ(all.size(), blocks.count(level - 1));
    }
  }
}

TEST(RankBlocks, a_rank_is_in_the_parent_of_its_block) {
  for (const DomainGrid& grid : grids) {
    const RankBlocks blocks{grid, 4};
    for (std::uint32_t rank = 0; rank < grid.ranks(); ++rank) {
      EXPECT_EQ(blocks.block_of(0, Rank{rank}), rank);
      for (std::size_t level = 1; level <= blocks.top(); ++level) {
        EXPECT_EQ(blocks.block_of(level, Rank{rank}), blocks.parent(level - 1, blocks.block_of(level - 1, Rank{rank})));
      }
    }
  }
}

TEST(RankBlocks, a_leader_is_in_its_block_and_leads_no_other) {
  for (const DomainGrid& grid : grids) {
    const RankBlocks blocks{grid, 8};
    std::vector<int> led(grid.ranks());
    for (std::size_t level = 1; level <= blocks.top(); ++level) {
      for (std::uint32_t block = 0; block < blocks.count(level); ++block) {
        EXPECT_EQ(blocks.block_of(level, blocks.leader(level, block)), block);
        ++led[blocks.leader(level, block).value()];
      }
    }
    if (grid == DomainGrid{32, 32, 16}) {
      EXPECT_EQ(*std::ranges::max_element(led), 1);
    }
  }
}

TEST(RankBlocks, few_ranks_have_no_blocks) {
  EXPECT_EQ((RankBlocks{{4, 4, 2}, 32}.top()), 0);
  EXPECT_EQ((RankBlocks{{4, 4, 3}, 32}.top()), 1);
}

/// Their shape follows the grid: cubes in a cube, pieces of the circumference in a ring.
TEST(RankBlocks, join_along_the_long_axes) {
  const RankBlocks cube{{8, 8, 8}, 32};
  EXPECT_EQ(cube.children(1, 0), (std::vector<std::uint32_t>{0, 1, 8, 9, 64, 65, 72, 73}));
  const RankBlocks ring{{64, 2, 1}, 32};
  EXPECT_EQ(ring.children(1, 1), (std::vector<std::uint32_t>{1, 3, 5, 7, 9, 11, 13, 15}));
}

}  // namespace
}  // namespace plait::particles::rank_blocks_test
