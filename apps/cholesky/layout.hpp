// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "plait/plait.hpp"

namespace cholesky {

/// Ranks in rows and columns: rank = row * columns + column.
using ProcessGrid = plait::BlockCyclic;

/// Parses "2x3" for 6 ranks. Throws: `plait::Error` with `bad_argument` that names --grid, for any other text.
[[nodiscard]] ProcessGrid parse_grid(const std::string& text, std::uint32_t ranks);

/// Rows of a tile for a matrix of `size` rows on `workers` workers: large enough for fast kernels, and small enough to
/// keep all workers busy.
[[nodiscard]] std::size_t sensible_tile(std::size_t size, std::size_t workers);

/// A block of a matrix in column-major order; columns are `stride` numbers apart. A view: its creator owns the numbers.
template <class Number>
struct TileOf {
  Number* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = rows;

  [[nodiscard]] Number& at(std::size_t row, std::size_t column) const { return data[row + column * stride]; }
  [[nodiscard]] TileOf part(std::size_t row,
                            std::size_t column,
                            std::size_t row_count,
                            std::size_t column_count) const {
    return {&at(row, column), row_count, column_count, stride};
  }
  operator TileOf<const double>() const  // NOLINT(google-explicit-constructor)
    requires(!std::is_const_v<Number>)
  {
    return {data, rows, columns, stride};
  }
};
using Tile = TileOf<double>;
using ConstTile = TileOf<const double>;

/// Which part of a matrix the tiles cover.
enum class Part : std::uint8_t {
  lower,  ///< The lower triangle of a symmetric matrix; tiles on the diagonal hold both of their triangles.
  all,
};

/// A square matrix in square tiles, the last of a row or column smaller, distributed block-cyclically in two dimensions
/// as in ScaLAPACK.
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
  [[nodiscard]] plait::Rank owner(std::size_t row, std::size_t column) const noexcept {
    return grid_(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column));
  }

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

/// The tiles of `part` that one rank holds, and their memory, zero at first. Pages that are never written take no
/// memory of the machine. Threads: any, on different tiles.
class LocalTiles {
 public:
  LocalTiles(const Layout& layout, Part part, plait::Rank self);

  /// By column, then by row.
  [[nodiscard]] const std::vector<PlacedTile>& tiles() const noexcept { return tiles_; }
  /// Expects: the rank holds the tile. Cost: a binary search.
  [[nodiscard]] Tile at(std::size_t row, std::size_t column) const;

 private:
  struct Free {
    void operator()(double* memory) const noexcept;
  };

  std::vector<std::unique_ptr<double[], Free>> memory_;
  std::vector<PlacedTile> tiles_;
};

/// Bytes of the tiles of `part` that `self` holds.
[[nodiscard]] std::uint64_t bytes_of(const Layout& layout, Part part, plait::Rank self);

}  // namespace cholesky
