// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "plait/particles/neighbours/block.hpp"
#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/search.hpp"

namespace plait::particles {

struct ShortRangeOptions {
  Search search = Search::gather;
  Field<float> reach;
  double reach_factor = 1;             ///< Multiplies `reach`, such as the support in smoothing lengths.
  std::vector<BlockField> targets;     ///< The fields of targets in blocks.
  std::vector<BlockField> sources;     ///< The fields of sources in blocks.
  std::vector<AnyField> travels;       ///< Other fields of sources that the kernel reads, by `Block::source`.
  std::uint64_t target_kinds = ~0ULL;  ///< A bit for each kind.
  std::uint64_t source_kinds = ~0ULL;
  /// In a shearing box, sources in blocks have the velocities of images in this field. Set by interactions of a system.
  std::optional<Field<Vector>> velocity = {};
};

/// The fields that blocks have of sources: position, kind, reach, and those of `sources` and `travels`.
[[nodiscard]] std::vector<AnyField> fields_of_sources(const ShortRangeOptions& options);

/// Adds to the results of a block's targets, at `block.targets.places()`. A block has all sources within reach of any
/// target, and others: the kernel tests the distance of each pair.
using ShortRangeKernel = std::function<void(const Block& block)>;

/// Builds blocks: gathers the targets of one group, and their sources among the particles of the cell and its
/// neighbours. Keeps its memory. Threads: one at a time.
class BlockMaker {
 public:
  /// Borrows `options`.
  explicit BlockMaker(const ShortRangeOptions& options) : options_{&options} {}

  /// Calls `kernel` with blocks that together have each of `targets`, ascending places in `cell`, once. The order and
  /// the content of blocks do not depend on threads.
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
