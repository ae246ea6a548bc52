// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plait/base/id.hpp"

namespace cholesky {

/// Ranks in rows and columns: rank = row * columns + column.
struct ProcessGrid {
  std::uint32_t rows = 1;
  std::uint32_t columns = 1;
  friend bool operator==(const ProcessGrid&, const ProcessGrid&) = default;
};

/// As square as `ranks` allows, with no more rows than columns: of a lower triangle, columns dealt out in turn differ
/// less in work than rows do.
[[nodiscard]] ProcessGrid nearly_square(std::uint32_t ranks);

/// "2x3" for 6 ranks. Throws: `plait::Error` with `bad_argument` that names --grid, for any other text.
[[nodiscard]] ProcessGrid parse_grid(const std::string& text, std::uint32_t ranks);

/// Rows of a tile for a matrix of `size` rows on so many workers: large enough for the kernels to be fast, and small
/// enough to keep all of them busy.
[[nodiscard]] std::size_t sensible_tile(std::size_t size, std::size_t workers);

/// A block of a matrix: column after column, without gaps. A view: its creator owns the numbers.
struct Tile {
  double* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;

  [[nodiscard]] double& at(std::size_t row, std::size_t column) const { return data[row + column * rows]; }
};

/// A tile that may only be read.
struct ConstTile {
  ConstTile(const double* numbers, std::size_t row_count, std::size_t column_count)
      : data{numbers}, rows{row_count}, columns{column_count} {}
  ConstTile(Tile tile) : ConstTile{tile.data, tile.rows, tile.columns} {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] double at(std::size_t row, std::size_t column) const { return data[row + column * rows]; }

  const double* data;
  std::size_t rows;
  std::size_t columns;
};

/// Which part of a matrix the tiles cover.
enum class Part : std::uint8_t {
  lower,  ///< The lower triangle of a symmetric matrix; tiles on the diagonal hold both of their triangles.
  all,
};

/// A square matrix cut into square tiles (those at the end are smaller), dealt out to ranks block-cyclically in rows
/// and columns, as ScaLAPACK does.
class Layout {
 public:
  /// Expects: `size` and `tile` are not 0.
  Layout(std::size_t size, std::size_t tile, ProcessGrid grid);

  /// Rows of the matrix.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t tile() const noexcept { return tile_; }
  [[nodiscard]] const ProcessGrid& grid() const noexcept { return grid_; }
  /// Tiles in a row or column of the matrix.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// First row of the tiles in tile row `index`; the same for columns.
  [[nodiscard]] std::size_t first(std::size_t index) const noexcept { return index * tile_; }
  /// Rows of the tiles in tile row `index`; the same for columns.
  [[nodiscard]] std::size_t rows(std::size_t index) const noexcept;
  [[nodiscard]] plait::Rank owner(std::size_t row, std::size_t column) const noexcept;

 private:
  std::size_t size_;
  std::size_t tile_;
  std::size_t count_;
  ProcessGrid grid_;
};

/// A tile and its place, counted in tiles.
struct PlacedTile {
  std::size_t row = 0;
  std::size_t column = 0;
  Tile tile;
};

/// The tiles of `part` that one rank holds, and their memory. Threads: any, on different tiles.
class LocalTiles {
 public:
  /// Cost: memory for the tiles, not set.
  LocalTiles(const Layout& layout, Part part, plait::Rank self);

  [[nodiscard]] const std::vector<PlacedTile>& tiles() const noexcept { return tiles_; }

 private:
  std::vector<std::vector<double>> memory_;
  std::vector<PlacedTile> tiles_;
};

/// Bytes of the tiles of `part` that `self` holds.
[[nodiscard]] std::uint64_t bytes_of(const Layout& layout, Part part, plait::Rank self);

}  // namespace cholesky
