// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plait/particles/neighbours/block.hpp"
#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// Which sources a target meets.
enum class Search : std::uint8_t {
  gather,     ///< Those within the target's reach.
  scatter,    ///< Those whose own reach it is in.
  symmetric,  ///< Those within the larger of both: what two particles do to each other is then seen by both.
};

/// What a search needs to know.
struct ShortRangeOptions {
  Search search = Search::gather;
  Field<float> reach;                  ///< Of each particle.
  double reach_factor = 1;             ///< The factor of the field, such as the support in smoothing lengths.
  std::vector<BlockField> targets;     ///< Fields that blocks hold of targets,
  std::vector<BlockField> sources;     ///< and of sources.
  std::uint64_t target_kinds = ~0ULL;  ///< A bit for each kind.
  std::uint64_t source_kinds = ~0ULL;
};

/// Sums up over a block: adds to the results of its targets, at `block.targets.places()`. Blocks hold every source
/// within the search's distance of any target, and others: the kernel asks each pair for its distance.
using ShortRangeKernel = std::function<void(const Block& block)>;

/// Finds, for some particles of a cell, all that may be near enough to them, among the particles of the cell and its
/// neighbours, and copies both together: a block at a time, of the targets of one group.
///
/// Threads: one at a time; every worker has its own. Keeps memory.
class BlockMaker {
 public:
  /// All that is read must stay.
  explicit BlockMaker(const ShortRangeOptions& options) : options_{&options} {}

  /// Calls `kernel` with blocks that hold each particle of `targets` once: ascending places within the cell of number
  /// `cell`. The blocks' order and what is in them does not depend on threads.
  void for_blocks(const CellTable& table,
                  std::uint32_t cell,
                  std::span<const Particles::Index> targets,
                  const ShortRangeKernel& kernel);

 private:
  struct Wanted;
  void find_sources(const CellTable& table, std::uint32_t cell, const Wanted& wanted);
  void add_leaf(const CellTable& table, std::uint32_t cell, const Leaf& leaf, const Wanted& wanted);

  const ShortRangeOptions* options_;
  Block block_;
};

}  // namespace plait::particles
