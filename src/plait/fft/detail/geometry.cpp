// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/detail/geometry.hpp"

#include <complex>

namespace plait::fft::detail {

namespace {

Layout layout_of(const std::array<Index, 3>& lengths, const std::array<Range, 3>& parts) {
  Layout layout{.lengths = lengths};
  for (int axis = 0; axis < 3; ++axis) {
    layout.box.low[axis] = parts[axis].low;
    layout.box.high[axis] = parts[axis].high;
  }
  layout.stride = {layout.box.extent(1) * layout.box.extent(2), layout.box.extent(2), 1};
  return layout;
}

std::size_t bytes_of(Index count) {
  return static_cast<std::size_t>(count) * sizeof(std::complex<double>);
}

}  // namespace

Geometry::Geometry(const std::array<Index, 3>& array_lengths, Kind array_kind, const RankGrid& ranks, Rank self)
    : lengths{array_lengths},
      spectral_length{array_kind == Kind::real ? array_lengths[2] / 2 + 1 : array_lengths[2]},
      kind{array_kind},
      grid{ranks},
      in_row{self.value() % ranks.row},
      in_column{self.value() / ranks.row} {}

Layout Geometry::physical() const {
  return layout_of(lengths, {planes(), rows(), Range{0, lengths[2]}});
}

Layout Geometry::spectral() const {
  return layout_of({lengths[0], lengths[1], spectral_length}, {Range{0, lengths[0]}, spectral_rows(), columns()});
}

BlockBytes Geometry::row_bytes() const {
  BlockBytes bytes{std::vector<std::size_t>(grid.row), std::vector<std::size_t>(grid.row)};
  for (std::uint32_t member = 0; member < grid.row; ++member) {
    if (member != in_row) {
      bytes.to[member] = bytes_of(row_before(member));
      bytes.from[member] = bytes_of(row_after(member));
    }
  }
  return bytes;
}

BlockBytes Geometry::column_bytes() const {
  BlockBytes bytes{std::vector<std::size_t>(grid.column), std::vector<std::size_t>(grid.column)};
  for (std::uint32_t member = 0; member < grid.column; ++member) {
    if (member != in_column) {
      bytes.to[member] = bytes_of(column_before(member));
      bytes.from[member] = bytes_of(column_after(member));
    }
  }
  return bytes;
}

}  // namespace plait::fft::detail
