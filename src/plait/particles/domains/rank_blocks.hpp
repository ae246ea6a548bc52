// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/particles/domains/domain.hpp"

namespace plait::particles {

/// Blocks of adjacent domains, blocks of these, and so on: a tree over the ranks of a grid.
///
/// Level 0 has the ranks, each higher level blocks of at most eight of the level below. The last level has few enough
/// blocks that each may exchange messages with every other. Blocks are numbered like the ranks of a grid. All functions
/// compute; no table grows with the number of ranks.
class RankBlocks {
 public:
  /// The last level has at most `top_blocks_max` blocks. Expects: it is positive.
  RankBlocks(const DomainGrid& grid, std::uint32_t top_blocks_max);

  /// The last level; 0 if it has the ranks themselves.
  [[nodiscard]] std::size_t top() const noexcept { return levels_.size() - 1; }
  [[nodiscard]] std::uint32_t count(std::size_t level) const {
    return static_cast<std::uint32_t>(levels_[level].grid.ranks());
  }
  [[nodiscard]] std::uint32_t block_of(std::size_t level, Rank rank) const;
  [[nodiscard]] std::uint32_t parent(std::size_t level, std::uint32_t block) const;
  /// The blocks of the level below, ascending. Expects: `level > 0`.
  [[nodiscard]] std::vector<std::uint32_t> children(std::size_t level, std::uint32_t block) const;
  [[nodiscard]] std::uint32_t child_count(std::size_t level, std::uint32_t block) const;
  /// The rank of the block that communicates for it. No rank leads two blocks, if each block of level 1 has as many
  /// ranks as there are levels above it.
  [[nodiscard]] Rank leader(std::size_t level, std::uint32_t block) const;

 private:
  using Parts = std::array<std::uint32_t, 3>;
  struct Level {
    DomainGrid grid;       ///< Of blocks.
    Parts sides{1, 1, 1};  ///< Of a block, in blocks of the level below.
    Parts sides_in_ranks{1, 1, 1};
  };
  /// Parts [low, high) along each axis.
  struct Range {
    Parts low{};
    Parts high{};

    [[nodiscard]] std::uint32_t count() const;
  };

  [[nodiscard]] Parts parts(std::size_t level, std::uint32_t block) const;
  /// The parts of `block` in a grid where full blocks have these sides; those at the ends may be smaller.
  [[nodiscard]] Range range_of(std::size_t level, std::uint32_t block, const Parts& sides, const DomainGrid& in) const;

  std::vector<Level> levels_;
};

}  // namespace plait::particles
