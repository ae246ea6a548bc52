// SPDX-License-Identifier: Apache-2.0
#include "cholesky/layout.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace cholesky {

ProcessGrid parse_grid(const std::string& text, std::uint32_t ranks) {
  ProcessGrid grid;
  const char* const end = text.data() + text.size();
  const auto rows = std::from_chars(text.data(), end, grid.rows);
  bool is_good = rows.ec == std::errc{} && rows.ptr != end && *rows.ptr == 'x';
  if (is_good) {
    const auto columns = std::from_chars(rows.ptr + 1, end, grid.columns);
    is_good = columns.ec == std::errc{} && columns.ptr == end;
  }
  if (!is_good || grid.rows == 0 || std::uint64_t{grid.rows} * grid.columns != ranks) {
    const ProcessGrid other = ProcessGrid::square(ranks);
    throw plait::Error{plait::ErrorCode::bad_argument,
                       fmt::format("--grid {} is no grid of {} ranks: give ROWSxCOLUMNS, for instance {}x{}",
                                   text,
                                   ranks,
                                   other.rows,
                                   other.columns)};
  }
  return grid;
}

std::size_t sensible_tile(std::size_t size, std::size_t workers) {
  // About 12 tiles a row for two workers, more for more: the tasks of the last steps are few.
  const double wanted = static_cast<double>(size) / (12 * std::sqrt(static_cast<double>(workers) / 2));
  const auto rounded = static_cast<std::size_t>(wanted / 64) * 64;
  return std::min(std::clamp(rounded, std::size_t{128}, std::size_t{512}), size);
}

Layout::Layout(std::size_t size, std::size_t tile, ProcessGrid grid)
    : size_{size}, tile_{tile}, count_{(size + tile - 1) / tile}, grid_{grid} {
  plait::expect(size > 0 && tile > 0, "a matrix and its tiles have rows");
}

std::size_t Layout::rows(std::size_t index) const noexcept {
  return std::min(tile_, size_ - first(index));
}

namespace {

template <class Visit>
void each_tile_of(const Layout& layout, Part part, plait::Rank self, Visit visit) {
  for (std::size_t column = 0; column < layout.count(); ++column) {
    for (std::size_t row = part == Part::lower ? column : 0; row < layout.count(); ++row) {
      if (layout.owner(row, column) == self) {
        visit(row, column);
      }
    }
  }
}

}  // namespace

LocalTiles::LocalTiles(const Layout& layout, Part part, plait::Rank self) {
  each_tile_of(layout, part, self, [&](std::size_t row, std::size_t column) {
    const std::size_t rows = layout.rows(row);
    const std::size_t columns = layout.rows(column);
    // Of zeros, which a vector would write.
    memory_.emplace_back(static_cast<double*>(std::calloc(rows * columns, sizeof(double))));
    if (memory_.back() == nullptr) {
      throw std::bad_alloc{};
    }
    tiles_.push_back({row, column, {memory_.back().get(), rows, columns}});
  });
}

Tile LocalTiles::at(std::size_t row, std::size_t column) const {
  const auto place = [](const PlacedTile& tile) { return std::pair{tile.column, tile.row}; };
  const auto found = std::ranges::lower_bound(tiles_, std::pair{column, row}, {}, place);
  plait::expect(found != tiles_.end() && place(*found) == std::pair{column, row}, "the rank holds the tile");
  return found->tile;
}

void LocalTiles::Free::operator()(double* memory) const noexcept {
  std::free(memory);
}

std::uint64_t bytes_of(const Layout& layout, Part part, plait::Rank self) {
  std::uint64_t numbers = 0;
  each_tile_of(layout, part, self, [&](std::size_t row, std::size_t column) {
    numbers += layout.rows(row) * layout.rows(column);
  });
  return numbers * sizeof(double);
}

}  // namespace cholesky
