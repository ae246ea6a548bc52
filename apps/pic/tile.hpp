// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "pic/grid.hpp"

namespace pic {

/// A value for each node of a box, x running fastest.
template <int D, class T>
class Tile {
 public:
  Tile() = default;
  explicit Tile(const Box<D>& box, const T& value = {})
      : box_{box}, values_(static_cast<std::size_t>(box.count()), value) {}

  [[nodiscard]] const Box<D>& box() const noexcept { return box_; }
  [[nodiscard]] T* data() noexcept { return values_.data(); }
  [[nodiscard]] const T* data() const noexcept { return values_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  [[nodiscard]] std::ptrdiff_t stride(int axis) const {
    std::ptrdiff_t stride = 1;
    for (int d = 0; d < axis; ++d) {
      stride *= box_.extent(d);
    }
    return stride;
  }
  /// The index of a node's value in `data()`.
  [[nodiscard]] std::ptrdiff_t index(const Place<D>& node) const {
    std::ptrdiff_t index = 0;
    for (int d = D - 1; d >= 0; --d) {
      index = index * box_.extent(d) + (node[d] - box_.low[d]);
    }
    return index;
  }
  [[nodiscard]] T& operator[](const Place<D>& node) { return values_[static_cast<std::size_t>(index(node))]; }
  [[nodiscard]] const T& operator[](const Place<D>& node) const {
    return values_[static_cast<std::size_t>(index(node))];
  }
  void fill(const T& value) { values_.assign(values_.size(), value); }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(box_, values_);
  }

 private:
  Box<D> box_;
  std::vector<T> values_;
};

/// Calls `f(first, count, done)` for every row of `box` along x: the address of its first value in the tile, the number
/// of its values, and the number of values in the rows before. Expects: `box` is in the tile.
template <int D, class AnyTile, class F>
void for_each_row(AnyTile& tile, const Box<D>& box, F f) {
  if (box.is_empty()) {
    return;
  }
  Box<D> starts = box;
  starts.high[0] = box.low[0] + 1;
  const std::ptrdiff_t length = box.extent(0);
  std::ptrdiff_t done = 0;
  for_each_place(starts, [&](const Place<D>& start) {
    f(tile.data() + tile.index(start), length, done);
    done += length;
  });
}

}  // namespace pic
