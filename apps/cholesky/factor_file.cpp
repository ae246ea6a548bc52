// SPDX-License-Identifier: Apache-2.0
#include "cholesky/factor_file.hpp"

#include <vector>

#include <fmt/format.h>

#include "plait/files/hdf5/write_file.hpp"
#include "plait/files/partial_file.hpp"

namespace cholesky {

namespace {

plait::Tag tag_of(const Layout& layout, std::size_t row, std::size_t column) {
  return plait::Tag{row * layout.count() + column};
}

/// Writes the rows of a tile, with zeros above the diagonal of a lower triangle.
void write_tile(plait::files::Hdf5Writer& out,
                const plait::files::Hdf5Handle& set,
                const Layout& layout,
                Part part,
                const PlacedTile& placed) {
  const Tile& tile = placed.tile;
  std::vector<double> rows(tile.rows * tile.columns);
  const bool is_triangle = part == Part::lower && placed.row == placed.column;
  for (std::size_t row = 0; row < tile.rows; ++row) {
    for (std::size_t column = 0; column < tile.columns; ++column) {
      rows[row * tile.columns + column] = is_triangle && row < column ? 0 : tile.at(row, column);
    }
  }
  const std::vector<hsize_t> first{layout.first(placed.row), layout.first(placed.column)};
  out.write(set, {{}, first, {tile.rows, tile.columns}}, std::span<const double>{rows});
}

plait::files::Hdf5Handle create_set(plait::files::Hdf5Writer& out, std::size_t size, Part part) {
  const plait::files::Hyperslab nothing_yet{{size, size}, {0, 0}, {0, 0}};
  return out.dataset(part == Part::lower ? "L" : "LU", nothing_yet, std::span<const double>{});
}

[[noreturn]] void throw_unwritable(const std::string& file, const plait::Error& error) {
  throw plait::Error{
      error.code(),
      fmt::format("--output {}: cannot be written: {}; check that the folder exists and has room", file, error.what())};
}

/// Writes the tiles of all ranks, its own first.
void collect(const plait::Group& all,
             const Layout& layout,
             Part part,
             std::span<const PlacedTile> tiles,
             const std::string& file) {
  const auto written = plait::files::write_hdf5(file, [&](plait::files::Hdf5Writer& out) {
    const plait::files::Hdf5Handle set = create_set(out, layout.size(), part);
    for (const PlacedTile& placed : tiles) {
      write_tile(out, set, layout, part, placed);
    }
    std::vector<double> buffer(layout.tile() * layout.tile());
    for (std::size_t column = 0; column < layout.count(); ++column) {
      for (std::size_t row = part == Part::lower ? column : 0; row < layout.count(); ++row) {
        const plait::Rank owner = layout.owner(row, column);
        if (owner == all.endpoint().self()) {
          continue;
        }
        const PlacedTile placed{row, column, {buffer.data(), layout.rows(row), layout.rows(column)}};
        const std::span<double> numbers{buffer.data(), placed.tile.rows * placed.tile.columns};
        all.endpoint()
            .receive({owner, tag_of(layout, row, column), all.comm()}, std::as_writable_bytes(numbers))
            .wait();
        write_tile(out, set, layout, part, placed);
      }
    }
  });
  if (!written) {
    throw_unwritable(file, written.error());
  }
}

}  // namespace

void expect_writable(const std::string& file) {
  const plait::files::PartialFile probe{file};
  try {
    plait::files::create_hdf5(probe.path(),
                              [](plait::files::Hdf5Writer& out) { (void)create_set(out, 1, Part::lower); });
  } catch (const plait::Error& error) {
    throw_unwritable(file, error);
  }
}

void write_factors(plait::Runtime& runtime,
                   const Layout& layout,
                   Part part,
                   std::span<const PlacedTile> tiles,
                   const std::string& file) {
  const plait::Group all{runtime.messages()};
  if (runtime.self() == plait::Rank{0}) {
    collect(all, layout, part, tiles, file);
    return;
  }
  for (const PlacedTile& placed : tiles) {
    const std::span<const double> numbers{placed.tile.data, placed.tile.rows * placed.tile.columns};
    runtime.messages()
        .send({plait::Rank{0}, tag_of(layout, placed.row, placed.column), all.comm()}, std::as_bytes(numbers))
        .wait();
  }
}

}  // namespace cholesky
