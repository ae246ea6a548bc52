// SPDX-License-Identifier: Apache-2.0
#include "cholesky/sources/hdf5_matrix.hpp"

#include <array>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/base/hdf5_handle.hpp"

#include "cholesky/sources/symmetry.hpp"

namespace cholesky {

namespace {

using plait::Error;
using plait::ErrorCode;
using plait::Hdf5Handle;

/// Where a tile stands in the dataset.
struct Place {
  std::size_t row;
  std::size_t column;
};

class Hdf5Matrix final : public MatrixSource {
 public:
  Hdf5Matrix(std::string file, const std::string& dataset) : name_{std::move(file)} {
    const plait::Hdf5Silence silence;
    std::error_code trouble;
    if (!std::filesystem::exists(name_, trouble)) {
      throw Error{ErrorCode::io, fmt::format("{}: there is no such file", name_)};
    }
    file_ = {H5Fopen(name_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
    if (!file_) {
      refuse(fmt::format("not an HDF5 file, or cut short, or not readable: {} (Matrix Market files end in .mtx)",
                         plait::hdf5_reason()));
    }
    open_set(dataset.empty() ? only_matrix() : dataset);
  }

  [[nodiscard]] std::size_t size() const override { return size_; }

  void fill(const Layout& layout, Part part, std::span<const PlacedTile> tiles) override {
    const plait::Hdf5Silence silence;
    std::vector<double> mirror;
    for (const PlacedTile& placed : tiles) {
      const Place place{layout.first(placed.row), layout.first(placed.column)};
      mirror.resize(placed.tile.rows * placed.tile.columns);
      // The file's rows are the tile's columns: what is read stands as its mirror image does.
      read(place, {mirror.data(), placed.tile.columns, placed.tile.rows});
      for (std::size_t column = 0; column < placed.tile.columns; ++column) {
        for (std::size_t row = 0; row < placed.tile.rows; ++row) {
          const double number = mirror[column + row * placed.tile.columns];
          if (!std::isfinite(number)) {
            refuse(fmt::format(
                "dataset {}: the number at [{}, {}] is not finite", set_name_, place.row + row, place.column + column));
          }
          placed.tile.at(row, column) = number;
        }
      }
      if (part == Part::lower) {
        read({place.column, place.row}, {mirror.data(), placed.tile.rows, placed.tile.columns});
        expect_symmetric(name_, layout, placed, {mirror.data(), placed.tile.rows, placed.tile.columns});
      }
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error{ErrorCode::bad_input, fmt::format("{}: {}", name_, why)};
  }

  /// Names of the datasets of two dimensions at the root.
  [[nodiscard]] std::vector<std::string> matrices() const {
    std::vector<std::string> found;
    H5G_info_t group{};
    H5Gget_info(file_.id(), &group);
    for (hsize_t index = 0; index < group.nlinks; ++index) {
      std::array<char, 1024> name{};
      if (H5Lget_name_by_idx(
              file_.id(), ".", H5_INDEX_NAME, H5_ITER_INC, index, name.data(), name.size(), H5P_DEFAULT) < 0) {
        continue;
      }
      const Hdf5Handle object{H5Oopen(file_.id(), name.data(), H5P_DEFAULT), H5Oclose};
      if (object && H5Iget_type(object.id()) == H5I_DATASET) {
        const Hdf5Handle space{H5Dget_space(object.id()), H5Sclose};
        if (H5Sget_simple_extent_ndims(space.id()) == 2) {
          found.emplace_back(name.data());
        }
      }
    }
    return found;
  }

  [[nodiscard]] std::string only_matrix() const {
    const std::vector<std::string> found = matrices();
    if (found.empty()) {
      refuse("there is no dataset of two dimensions at its root: name one with --dataset");
    }
    if (found.size() > 1) {
      refuse(fmt::format("there are several matrices: name one with --dataset: {}", fmt::join(found, ", ")));
    }
    return found.front();
  }

  void open_set(const std::string& dataset) {
    set_name_ = dataset;
    set_ = {H5Dopen2(file_.id(), dataset.c_str(), H5P_DEFAULT), H5Dclose};
    if (!set_) {
      refuse(fmt::format(
          "there is no dataset {}: those of two dimensions at the root are: {}", dataset, fmt::join(matrices(), ", ")));
    }
    const Hdf5Handle type{H5Dget_type(set_.id()), H5Tclose};
    const H5T_class_t kind = H5Tget_class(type.id());
    if (kind != H5T_FLOAT && kind != H5T_INTEGER) {
      refuse(fmt::format("dataset {} does not hold numbers", dataset));
    }
    const Hdf5Handle space{H5Dget_space(set_.id()), H5Sclose};
    std::array<hsize_t, H5S_MAX_RANK> shape{};
    const int dimensions = H5Sget_simple_extent_dims(space.id(), shape.data(), nullptr);
    if (dimensions != 2 || shape[0] != shape[1] || shape[0] == 0) {
      refuse(fmt::format("dataset {} has the shape ({}); only a square matrix can be factored",
                         dataset,
                         fmt::join(shape.begin(), shape.begin() + std::max(dimensions, 0), ", ")));
    }
    size_ = shape[0];
  }

  /// Reads as many rows of the file as `to` has columns, and as many columns as `to` has rows: from column to column
  /// `to` is the file's rows.
  void read(Place place, Tile to) const {
    const std::array<hsize_t, 2> begin{place.row, place.column};
    const std::array<hsize_t, 2> shape{to.columns, to.rows};
    const Hdf5Handle space{H5Dget_space(set_.id()), H5Sclose};
    const Hdf5Handle memory{H5Screate_simple(2, shape.data(), nullptr), H5Sclose};
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, begin.data(), nullptr, shape.data(), nullptr);
    if (H5Dread(set_.id(), H5T_NATIVE_DOUBLE, memory.id(), space.id(), H5P_DEFAULT, to.data) < 0) {
      refuse(fmt::format("dataset {} cannot be read: {}", set_name_, plait::hdf5_reason()));
    }
  }

  std::string name_;
  std::string set_name_;
  Hdf5Handle file_;
  Hdf5Handle set_;
  std::size_t size_ = 0;
};

}  // namespace

std::unique_ptr<MatrixSource> open_hdf5_matrix(const std::string& file, const std::string& dataset) {
  return std::make_unique<Hdf5Matrix>(file, dataset);
}

}  // namespace cholesky
