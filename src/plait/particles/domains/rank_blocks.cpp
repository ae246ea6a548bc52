// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/rank_blocks.hpp"

#include <algorithm>

#include "plait/base/error.hpp"

namespace plait::particles {
namespace {

constexpr std::uint32_t children_max = 8;

/// The axes along which neighbouring blocks join: those with more than half as many blocks as the longest axis.
std::array<bool, 3> long_axes(const std::array<std::uint32_t, 3>& counts) {
  const std::uint32_t longest = std::ranges::max(counts);
  std::array<bool, 3> are_long{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    are_long[axis] = counts[axis] > 1 && 2 * counts[axis] > longest;
  }
  return are_long;
}

/// The sides of a block of at most `children_max` parts of a grid: the grid is halved along its long axes, repeatedly.
std::array<std::uint32_t, 3> block_sides(std::array<std::uint32_t, 3> counts) {
  std::array<std::uint32_t, 3> sides{1, 1, 1};
  while (true) {
    const std::array<bool, 3> halved = long_axes(counts);
    std::array<std::uint32_t, 3> next = sides;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      next[axis] *= halved[axis] ? 2 : 1;
      counts[axis] = halved[axis] ? (counts[axis] + 1) / 2 : counts[axis];
    }
    if (next == sides || next[0] * next[1] * next[2] > children_max) {
      return sides;
    }
    sides = next;
  }
}

}  // namespace

std::uint32_t RankBlocks::Range::count() const {
  return (high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]);
}

RankBlocks::RankBlocks(const DomainGrid& grid, std::uint32_t top_blocks_max) {
  expect(top_blocks_max > 0, "the last level has a block");
  levels_.push_back({.grid = grid});
  while (levels_.back().grid.ranks() > top_blocks_max) {
    const Level& below = levels_.back();
    const Parts counts = below.grid.counts();
    Level level{.sides = block_sides(counts)};
    Parts blocks{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      blocks[axis] = (counts[axis] + level.sides[axis] - 1) / level.sides[axis];
      level.sides_in_ranks[axis] = below.sides_in_ranks[axis] * level.sides[axis];
    }
    level.grid = {blocks[0], blocks[1], blocks[2]};
    levels_.push_back(level);
  }
}

RankBlocks::Parts RankBlocks::parts(std::size_t level, std::uint32_t block) const {
  return levels_[level].grid.parts_of(Rank{block});
}

RankBlocks::Range RankBlocks::range_of(std::size_t level,
                                       std::uint32_t block,
                                       const Parts& sides,
                                       const DomainGrid& in) const {
  const Parts of_block = parts(level, block);
  const Parts counts = in.counts();
  Range range;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    range.low[axis] = of_block[axis] * sides[axis];
    range.high[axis] = std::min(range.low[axis] + sides[axis], counts[axis]);
  }
  return range;
}

std::uint32_t RankBlocks::block_of(std::size_t level, Rank rank) const {
  Parts of_rank = levels_.front().grid.parts_of(rank);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    of_rank[axis] /= levels_[level].sides_in_ranks[axis];
  }
  return levels_[level].grid.rank_of(of_rank).value();
}

std::uint32_t RankBlocks::parent(std::size_t level, std::uint32_t block) const {
  const Level& above = levels_[level + 1];
  Parts of_block = parts(level, block);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    of_block[axis] /= above.sides[axis];
  }
  return above.grid.rank_of(of_block).value();
}

std::vector<std::uint32_t> RankBlocks::children(std::size_t level, std::uint32_t block) const {
  const DomainGrid& below = levels_[level - 1].grid;
  const Range range = range_of(level, block, levels_[level].sides, below);
  std::vector<std::uint32_t> all;
  for (std::uint32_t x = range.low[0]; x < range.high[0]; ++x) {
    for (std::uint32_t y = range.low[1]; y < range.high[1]; ++y) {
      for (std::uint32_t z = range.low[2]; z < range.high[2]; ++z) {
        all.push_back(below.rank_of({x, y, z}).value());
      }
    }
  }
  return all;
}

std::uint32_t RankBlocks::child_count(std::size_t level, std::uint32_t block) const {
  return range_of(level, block, levels_[level].sides, levels_[level - 1].grid).count();
}

Rank RankBlocks::leader(std::size_t level, std::uint32_t block) const {
  if (level == 0) {
    return Rank{block};
  }
  const DomainGrid& ranks = levels_.front().grid;
  const Range all = range_of(level, block, levels_[level].sides_in_ranks, ranks);
  const Rank first = ranks.rank_of(all.low);
  const Range range = range_of(1, block_of(1, first), levels_[1].sides, ranks);
  const std::uint32_t number = std::min(static_cast<std::uint32_t>(level - 1), range.count() - 1);
  const std::uint32_t along_y = range.high[1] - range.low[1];
  const std::uint32_t along_z = range.high[2] - range.low[2];
  return ranks.rank_of({range.low[0] + number / along_z / along_y,
                        range.low[1] + number / along_z % along_y,
                        range.low[2] + number % along_z});
}

}  // namespace plait::particles
