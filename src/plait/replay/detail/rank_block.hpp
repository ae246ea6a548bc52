// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/replay/grid.hpp"

namespace plait::replay::detail {

/// Ranks that are a line, a plane, all or one of a grid: along some dimensions all, in the others at one coordinate.
struct RankBlock {
  std::vector<bool> is_whole;        ///< By dimension. One of a single rank is whole.
  std::vector<std::uint32_t> place;  ///< By dimension: its coordinate; 0 where it is whole.
};

/// The block that these ranks are, in any order; nothing if they are none, or if the grid has no dimensions.
[[nodiscard]] std::optional<RankBlock> block_of(const RankGrid& grid, std::span<const std::uint32_t> ranks);

}  // namespace plait::replay::detail
