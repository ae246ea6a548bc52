// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/rank_block.hpp"

#include <set>

namespace plait::replay::detail {

std::optional<RankBlock> block_of(const RankGrid& grid, std::span<const std::uint32_t> ranks) {
  if (grid.is_all_to_all() || ranks.empty()) {
    return std::nullopt;
  }
  std::vector<std::set<std::uint32_t>> coordinates(grid.dimensions.size());
  for (const std::uint32_t rank : ranks) {
    const std::vector<std::uint32_t> place = grid.place_of(rank);
    for (std::size_t i = 0; i < place.size(); ++i) {
      coordinates[i].insert(place[i]);
    }
  }
  RankBlock block;
  std::size_t size = 1;
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    const bool is_whole = coordinates[i].size() == grid.dimensions[i].size;
    if (!is_whole && coordinates[i].size() != 1) {
      return std::nullopt;
    }
    size *= coordinates[i].size();
    block.is_whole.push_back(is_whole);
    block.place.push_back(is_whole ? 0 : *coordinates[i].begin());
  }
  return size == ranks.size() ? std::optional{block} : std::nullopt;
}

}  // namespace plait::replay::detail
