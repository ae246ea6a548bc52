// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"

#include "cholesky/sources/matrix_market.hpp"
#include "cholesky/sources/matrix_source.hpp"

namespace cholesky {

namespace {

/// The tiles to fill, by place; for each, if requested, also memory for its mirror image.
class Places {
 public:
  Places(const Layout& layout, std::span<const PlacedTile> tiles, bool has_mirrors)
      : layout_{layout}, at_(layout.count() * layout.count()), mirror_at_(has_mirrors ? at_.size() : 0) {
    for (const PlacedTile& placed : tiles) {
      const std::size_t index = placed.row * layout.count() + placed.column;
      std::fill_n(placed.tile.data, placed.tile.rows * placed.tile.columns, 0.0);
      at_[index] = placed.tile;
      if (has_mirrors) {
        memory_.emplace_back(placed.tile.rows * placed.tile.columns);
        mirror_at_[index] = {memory_.back().data(), placed.tile.rows, placed.tile.columns};
      }
    }
  }

  void add(std::size_t row, std::size_t column, double value) const { add(at_, row, column, value); }
  void add_to_mirror(std::size_t row, std::size_t column, double value) const { add(mirror_at_, row, column, value); }

  [[nodiscard]] ConstTile mirror(const PlacedTile& placed) const {
    return mirror_at_[placed.row * layout_.count() + placed.column];
  }

 private:
  void add(const std::vector<Tile>& tiles, std::size_t row, std::size_t column, double value) const {
    const std::size_t size = layout_.tile();
    const Tile& tile = tiles[row / size * layout_.count() + column / size];
    if (tile.data != nullptr) {
      tile.at(row % size, column % size) += value;
    }
  }

  const Layout& layout_;
  std::vector<Tile> at_;
  std::vector<Tile> mirror_at_;
  std::vector<std::vector<double>> memory_;
};

class MarketMatrix final : public MatrixSource {
 public:
  explicit MarketMatrix(const std::string& file) : name_{file}, reader_{open(file, in_), file} {}

  [[nodiscard]] std::size_t size() const override { return reader_.size(); }

  void fill(const Layout& layout, Part part, std::span<const PlacedTile> tiles) override {
    const bool is_checked = part == Part::lower && !reader_.is_symmetric();
    const Places places{layout, tiles, is_checked};
    reader_.each([&](std::size_t row, std::size_t column, double value) {
      places.add(row, column, value);
      if (reader_.is_symmetric() && row != column) {
        places.add(column, row, value);
      }
      if (is_checked) {
        places.add_to_mirror(column, row, value);
      }
    });
    if (is_checked) {
      for (const PlacedTile& placed : tiles) {
        expect_symmetric(name_, layout, placed, places.mirror(placed));
      }
    }
  }

 private:
  static std::istream& open(const std::string& file, std::ifstream& in) {
    in.open(file);
    if (!in) {
      throw plait::Error{plait::ErrorCode::io, fmt::format("{}: cannot be opened for reading", file)};
    }
    return in;
  }

  std::ifstream in_;
  std::string name_;
  MatrixMarketReader reader_;
};

}  // namespace

std::unique_ptr<MatrixSource> open_matrix(const std::string& file, const std::string& dataset) {
  if (!file.ends_with(".mtx")) {
    return open_hdf5_matrix(file, dataset);
  }
  if (!dataset.empty()) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       fmt::format("--dataset {} is for HDF5 files, and {} is a Matrix Market file", dataset, file)};
  }
  return std::make_unique<MarketMatrix>(file);
}

}  // namespace cholesky
