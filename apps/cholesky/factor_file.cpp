// SPDX-License-Identifier: Apache-2.0
#include "cholesky/factor_file.hpp"

#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "plait/base/hdf5_handle.hpp"

namespace cholesky {

namespace {

using plait::Hdf5Handle;

constexpr plait::CommId comm{0xc4};

plait::Address address(const Layout& layout, plait::Rank peer, std::size_t row, std::size_t column) {
  return {peer, plait::Tag{row * layout.count() + column}, comm};
}

/// On rank 0.
class Writer {
 public:
  Writer(const std::string& file, std::size_t size, Part part) : name_{file}, partial_{file + ".part"}, part_{part} {
    file_ = {H5Fcreate(partial_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose};
    check(static_cast<bool>(file_));
    const std::array<hsize_t, 2> shape{size, size};
    const Hdf5Handle space{H5Screate_simple(2, shape.data(), nullptr), H5Sclose};
    set_ = {H5Dcreate2(file_.id(),
                       part == Part::lower ? "L" : "LU",
                       H5T_NATIVE_DOUBLE,
                       space.id(),
                       H5P_DEFAULT,
                       H5P_DEFAULT,
                       H5P_DEFAULT),
            H5Dclose};
    check(static_cast<bool>(set_));
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    std::error_code ignored;
    set_.close();
    file_.close();
    std::filesystem::remove(partial_, ignored);  // not there any more when it was finished
  }

  void write(const Layout& layout, const PlacedTile& placed) {
    const Tile& tile = placed.tile;
    rows_.resize(tile.rows * tile.columns);
    const bool is_triangle = part_ == Part::lower && placed.row == placed.column;
    for (std::size_t row = 0; row < tile.rows; ++row) {
      for (std::size_t column = 0; column < tile.columns; ++column) {
        rows_[row * tile.columns + column] = is_triangle && row < column ? 0 : tile.at(row, column);
      }
    }
    const std::array<hsize_t, 2> begin{layout.first(placed.row), layout.first(placed.column)};
    const std::array<hsize_t, 2> shape{tile.rows, tile.columns};
    const Hdf5Handle space{H5Dget_space(set_.id()), H5Sclose};
    const Hdf5Handle memory{H5Screate_simple(2, shape.data(), nullptr), H5Sclose};
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, begin.data(), nullptr, shape.data(), nullptr);
    check(H5Dwrite(set_.id(), H5T_NATIVE_DOUBLE, memory.id(), space.id(), H5P_DEFAULT, rows_.data()) >= 0);
  }

  void finish() {
    const bool is_closed = set_.close();
    check(file_.close() && is_closed);
    std::error_code trouble;
    std::filesystem::rename(partial_, name_, trouble);
    check(!trouble);
  }

 private:
  void check(bool is_good) const {
    if (!is_good) {
      throw plait::Error{plait::ErrorCode::io,
                         fmt::format("--output {}: cannot be written: {}; is there such a folder, and room in it?",
                                     name_,
                                     plait::hdf5_reason())};
    }
  }

  std::string name_;
  std::string partial_;
  Part part_;
  Hdf5Handle file_;
  Hdf5Handle set_;
  std::vector<double> rows_;
};

/// Writes the tiles of all, its own first.
void collect(plait::Runtime& runtime,
             const Layout& layout,
             Part part,
             std::span<const PlacedTile> tiles,
             const std::string& file) {
  const plait::Hdf5Silence silence;
  Writer writer{file, layout.size(), part};
  for (const PlacedTile& placed : tiles) {
    writer.write(layout, placed);
  }
  std::vector<double> buffer(layout.tile() * layout.tile());
  for (std::size_t column = 0; column < layout.count(); ++column) {
    for (std::size_t row = part == Part::lower ? column : 0; row < layout.count(); ++row) {
      const plait::Rank owner = layout.owner(row, column);
      if (owner == runtime.self()) {
        continue;
      }
      const PlacedTile placed{row, column, {buffer.data(), layout.rows(row), layout.rows(column)}};
      const std::span<double> numbers{buffer.data(), placed.tile.rows * placed.tile.columns};
      runtime.messages().receive(address(layout, owner, row, column), std::as_writable_bytes(numbers)).wait();
      writer.write(layout, placed);
    }
  }
  writer.finish();
}

}  // namespace

void expect_writable(const std::string& file) {
  const plait::Hdf5Silence silence;
  (void)Writer{file, 1, Part::lower};
}

void write_factors(plait::Runtime& runtime,
                   const Layout& layout,
                   Part part,
                   std::span<const PlacedTile> tiles,
                   const std::string& file) {
  if (runtime.self() == plait::Rank{0}) {
    collect(runtime, layout, part, tiles, file);
    return;
  }
  for (const PlacedTile& placed : tiles) {
    const std::span<const double> numbers{placed.tile.data, placed.tile.rows * placed.tile.columns};
    runtime.messages().send(address(layout, plait::Rank{0}, placed.row, placed.column), std::as_bytes(numbers)).wait();
  }
}

}  // namespace cholesky
