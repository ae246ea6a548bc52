// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

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
/// Rows and columns are numbered from 0. Every rank creates the same grid; it is valid while the flow lives. A piece
/// takes memory on a rank that has named it, 8 bytes on others, and none there with `Submission::own_tasks`.
///
/// Threads: the submitting one, also for `local`, as the first call for a piece creates it.
template <class T>
class DataGrid {
 public:
  struct Shape {
    std::uint32_t rows = 1;
    std::uint32_t columns = 1;
  };

  /// What pieces consist of, where they are not equal.
  struct Pieces {
    /// The number of elements of a piece. The same on every rank.
    std::function<std::size_t(std::uint32_t row, std::uint32_t column)> element_count;
    /// The owner's memory, which has the piece's value and outlives the flow; called on the owner, when it first names
    /// the piece. Empty: the owner allocates uninitialised memory.
    std::function<std::span<T>(std::uint32_t row, std::uint32_t column)> memory = {};
  };

  /// `name` identifies the pieces in errors, as in `A(3, 2)`. Each piece has `element_count` elements.
  DataGrid(Flow& flow,
           std::string_view name,
           const Shape& shape,
           std::size_t element_count,
           const Distribution& distribution)
      : DataGrid{flow,
                 name,
                 shape,
                 Pieces{[element_count](std::uint32_t /*row*/, std::uint32_t /*column*/) { return element_count; }},
                 distribution} {}
  /// As above, of pieces that differ.
  DataGrid(
      Flow& flow, std::string_view name, const Shape& shape, const Pieces& pieces, const Distribution& distribution)
      : self_{flow.self()},
        shape_{shape},
        grid_{&flow.engine_->add_grid(layout_of(name, shape, pieces, distribution))} {}

  /// Expects: the piece exists. Cost: a look-up; the first call for a piece creates it on this rank. Throws: `Error`
  /// with `bad_argument` when the distribution names no rank of the flow.
  [[nodiscard]] Data<T> operator()(std::uint32_t row, std::uint32_t column) const {
    expect(row < shape_.rows && column < shape_.columns, "the piece exists");
    return Data<T>{grid_->at(row, column)};
  }
  [[nodiscard]] std::uint32_t rows() const noexcept { return shape_.rows; }
  [[nodiscard]] std::uint32_t columns() const noexcept { return shape_.columns; }
  [[nodiscard]] bool is_local(std::uint32_t row, std::uint32_t column) const {
    return grid_->layout().owner(row, column) == self_;
  }
  /// Returns the owner's elements, see `Data::local`.
  [[nodiscard]] std::span<T> local(std::uint32_t row, std::uint32_t column) const {
    return (*this)(row, column).local();
  }

 private:
  [[nodiscard]] static detail::GridLayout layout_of(std::string_view name,
                                                    const Shape& shape,
                                                    const Pieces& pieces,
                                                    const Distribution& distribution) {
    detail::GridLayout layout{
        .name = std::string{name},
        .rows = shape.rows,
        .columns = shape.columns,
        .owner = distribution,
        .bytes = [count = pieces.element_count](std::uint32_t row,
                                                std::uint32_t column) { return count(row, column) * sizeof(T); },
        .memory = {}};
    if (pieces.memory) {
      layout.memory = [memory = pieces.memory](std::uint32_t row, std::uint32_t column) {
        return reinterpret_cast<std::byte*>(memory(row, column).data());
      };
    }
    return layout;
  }

  Rank self_;
  Shape shape_;
  detail::DataStore::Grid* grid_;
};

}  // namespace plait::task
