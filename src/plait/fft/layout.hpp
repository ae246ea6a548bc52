// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace plait::fft {

/// Counts and indices of points along an axis.
using Index = std::int64_t;

/// The points with `low[a] <= i[a] < high[a]` along each axis a; indices of the whole array.
struct IndexBox {
  std::array<Index, 3> low{};
  std::array<Index, 3> high{};

  [[nodiscard]] Index extent(int axis) const noexcept { return high[axis] - low[axis]; }
  /// The number of points; 0 if it is empty along any axis.
  [[nodiscard]] Index volume() const noexcept { return extent(0) * extent(1) * extent(2); }
  [[nodiscard]] bool is_empty() const noexcept { return volume() == 0; }
  friend bool operator==(const IndexBox&, const IndexBox&) = default;
};

/// The intersection; its extents are 0 if it is empty.
[[nodiscard]] inline IndexBox common_part(const IndexBox& one, const IndexBox& other) noexcept {
  IndexBox common;
  for (int axis = 0; axis < 3; ++axis) {
    common.low[axis] = std::max(one.low[axis], other.low[axis]);
    common.high[axis] = std::max(common.low[axis], std::min(one.high[axis], other.high[axis]));
  }
  return common;
}

/// The part of an array on this rank, and its layout in memory. Axis 2 varies fastest, then axis 1.
struct ArrayLayout {
  std::array<Index, 3> lengths{};  ///< Of the whole array.
  IndexBox box;                    ///< The part on this rank, in indices of the whole array. May be empty.
  std::array<Index, 3> stride{};   ///< In elements, from a point to the next along each axis.

  /// The offset of the point with these indices of the whole array, in elements.
  [[nodiscard]] Index offset(Index i0, Index i1, Index i2) const noexcept {
    return (i0 - box.low[0]) * stride[0] + (i1 - box.low[1]) * stride[1] + (i2 - box.low[2]) * stride[2];
  }
  /// Elements on this rank.
  [[nodiscard]] Index size() const noexcept { return box.volume(); }
};

/// `low <= i < high`.
struct Range {
  Index low = 0;
  Index high = 0;

  [[nodiscard]] Index count() const noexcept { return high - low; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// Part `index` of `length` points that are divided into `parts`, in order and as equally as possible. Some parts are
/// empty if there are more parts than points. All arrays of this library are divided in this way.
[[nodiscard]] constexpr Range part_of(Index length, std::uint32_t parts, std::uint32_t index) noexcept {
  return {length * index / parts, length * (index + Index{1}) / parts};
}

}  // namespace plait::fft
