// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/files/hdf5/reader.hpp"

#include "cholesky/sources/matrix_source.hpp"

namespace cholesky {

namespace {

/// The first row and column of a tile in the dataset.
struct Place {
  std::size_t row;
  std::size_t column;
};

class Hdf5Matrix final : public MatrixSource {
 public:
  Hdf5Matrix(const std::string& file, const std::string& dataset) : in_{open(file)} {
    const plait::files::Hdf5Silence silence;
    open_set(dataset.empty() ? only_matrix() : dataset);
  }

  [[nodiscard]] std::size_t size() const override { return size_; }

  void fill(const Layout& layout, Part part, std::span<const PlacedTile> tiles) override {
    const plait::files::Hdf5Silence silence;
    std::vector<double> mirror;
    for (const PlacedTile& placed : tiles) {
      const Place place{layout.first(placed.row), layout.first(placed.column)};
      mirror.resize(placed.tile.rows * placed.tile.columns);
      // The file's rows are the tile's columns: what is read is its mirror image.
      read(place, {mirror.data(), placed.tile.columns, placed.tile.rows});
      for (std::size_t column = 0; column < placed.tile.columns; ++column) {
        for (std::size_t row = 0; row < placed.tile.rows; ++row) {
          const double number = mirror[column + row * placed.tile.columns];
          if (!std::isfinite(number)) {
            in_.fail(fmt::format(
                "dataset {}: the number at [{}, {}] is not finite", set_name_, place.row + row, place.column + column));
          }
          placed.tile.at(row, column) = number;
        }
      }
      if (part == Part::lower) {
        read({place.column, place.row}, {mirror.data(), placed.tile.rows, placed.tile.columns});
        expect_symmetric(in_.name(), layout, placed, {mirror.data(), placed.tile.rows, placed.tile.columns});
      }
    }
  }

 private:
  static plait::files::Hdf5Reader open(const std::string& file) {
    const plait::files::Hdf5Silence silence;
    try {
      return plait::files::Hdf5Reader{file};
    } catch (const plait::Error& error) {
      throw plait::Error{error.code(), fmt::format("{} (Matrix Market files end in .mtx)", error.what())};
    }
  }

  /// Names of the two-dimensional datasets at the root.
  [[nodiscard]] std::vector<std::string> matrices() const {
    std::vector<std::string> found = in_.names_in("/");
    std::erase_if(found, [&](const std::string& name) { return !is_matrix(name); });
    return found;
  }
  [[nodiscard]] bool is_matrix(const std::string& name) const {
    try {
      return in_.facts(name).extents.size() == 2;
    } catch (const plait::Error&) {  // a group
      return false;
    }
  }

  [[nodiscard]] std::string only_matrix() const {
    const std::vector<std::string> found = matrices();
    if (found.empty()) {
      in_.fail("it has no two-dimensional dataset at its root: name one with --dataset");
    }
    if (found.size() > 1) {
      in_.fail(fmt::format("it has several matrices: name one with --dataset: {}", fmt::join(found, ", ")));
    }
    return found.front();
  }

  void open_set(const std::string& dataset) {
    set_name_ = dataset;
    if (!in_.exists(dataset)) {
      in_.fail(fmt::format("there is no dataset {}: the two-dimensional ones at the root are: {}",
                           dataset,
                           fmt::join(matrices(), ", ")));
    }
    const plait::files::Hdf5Reader::Facts facts = in_.facts(dataset);
    if (facts.kind != H5T_FLOAT && facts.kind != H5T_INTEGER) {
      in_.fail(fmt::format("dataset {} does not hold numbers", dataset));
    }
    const std::vector<hsize_t>& shape = facts.extents;
    if (shape.size() != 2 || shape[0] != shape[1] || shape[0] == 0) {
      in_.fail(fmt::format(
          "dataset {} has the shape ({}); only a square matrix can be factored", dataset, fmt::join(shape, ", ")));
    }
    size_ = shape[0];
  }

  /// Reads a block of the file into `to`, whose columns are the file's rows.
  void read(Place place, Tile to) const {
    in_.read(set_name_, {place.row, place.column}, {to.columns, to.rows}, H5T_NATIVE_DOUBLE, to.data);
  }

  plait::files::Hdf5Reader in_;
  std::string set_name_;
  std::size_t size_ = 0;
};

}  // namespace

std::unique_ptr<MatrixSource> open_hdf5_matrix(const std::string& file, const std::string& dataset) {
  return std::make_unique<Hdf5Matrix>(file, dataset);
}

}  // namespace cholesky
