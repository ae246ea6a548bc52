// SPDX-License-Identifier: Apache-2.0
#include "cholesky/tile_flow.hpp"

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

}  // namespace cholesky
