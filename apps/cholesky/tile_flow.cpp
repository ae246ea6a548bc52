// SPDX-License-Identifier: Apache-2.0
#include "cholesky/tile_flow.hpp"

#include <algorithm>
#include <span>

namespace cholesky {

TileFlow::TileFlow(plait::Flow& flow, const Layout& layout, Part part, const LocalTiles& local, TileWork& work)
    : flow_{flow}, layout_{layout}, work_{work}, data_(layout.count() * layout.count()) {
  std::vector<std::span<double>> memory(data_.size());
  for (const auto& [row, column, tile] : local.tiles()) {
    memory[row * layout.count() + column] = {tile.data, tile.rows * tile.columns};
  }
  for (std::size_t row = 0; row < layout.count(); ++row) {
    const std::size_t columns = part == Part::lower ? row + 1 : layout.count();
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t index = row * layout.count() + column;
      data_[index] = flow.data(layout.owner(row, column), layout.rows(row) * layout.rows(column), memory[index]);
    }
  }
}

int priority(const Layout& layout, const TaskPlace& place) {
  const auto [first, last] = std::minmax(place.row, place.column);
  const std::size_t steps = layout.count() - 1 - last;
  const std::size_t way = first - place.step + 1 + (first != last ? last - first + 1 : 0);
  return static_cast<int>(way + 3 * steps);
}

}  // namespace cholesky
