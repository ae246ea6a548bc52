// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/base/id.hpp"
#include "plait/task/flow/data.hpp"
#include "plait/task/flow/distribution.hpp"
#include "plait/task/flow/flow.hpp"

namespace plait::task {

/// A grid of data of equal size, distributed over the ranks: the tiles of a matrix.
///
///     DataGrid<double> tiles{flow, "A", {.rows = 8, .columns = 8}, 256 * 256, BlockCyclic{2, 2}};
///     if (tiles(3, 2).owner() == flow.self()) { fill(tiles.local(3, 2)); }
///     flow.submit(kernel, r(tiles(3, 2)), rw(tiles(4, 2)));
///
/// Rows and columns are numbered from 0. Every rank creates the same grid; it is valid while the flow lives.
template <class T>
class DataGrid {
 public:
  struct Shape {
    std::uint32_t rows = 1;
    std::uint32_t columns = 1;
  };

  /// `name` identifies the pieces in errors, as in `A(3, 2)`. Each piece has `element_count` elements.
  DataGrid(Flow& flow,
           std::string_view name,
           const Shape& shape,
           std::size_t element_count,
           const Distribution& distribution)
      : self_{flow.self()}, shape_{shape} {
    const std::string& kept_name = flow.engine_->add_collection(name);
    pieces_.reserve(std::size_t{shape.rows} * shape.columns);
    for (std::uint32_t row = 0; row < shape.rows; ++row) {
      for (std::uint32_t column = 0; column < shape.columns; ++column) {
        pieces_.emplace_back(flow.engine_->add(distribution(row, column),
                                               element_count * sizeof(T),
                                               nullptr,
                                               {.collection = &kept_name, .row = row, .column = column}));
      }
    }
  }

  [[nodiscard]] const Data<T>& operator()(std::uint32_t row, std::uint32_t column) const {
    expect(row < shape_.rows && column < shape_.columns, "the piece exists");
    return pieces_[std::size_t{row} * shape_.columns + column];
  }
  [[nodiscard]] std::uint32_t rows() const noexcept { return shape_.rows; }
  [[nodiscard]] std::uint32_t columns() const noexcept { return shape_.columns; }
  [[nodiscard]] bool is_local(std::uint32_t row, std::uint32_t column) const {
    return (*this)(row, column).owner() == self_;
  }
  /// Returns the owner's elements, see `Data::local`.
  [[nodiscard]] std::span<T> local(std::uint32_t row, std::uint32_t column) const {
    return (*this)(row, column).local();
  }

 private:
  Rank self_;
  Shape shape_;
  std::vector<Data<T>> pieces_;
};

}  // namespace plait::task
