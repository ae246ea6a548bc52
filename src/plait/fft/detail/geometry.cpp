// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/detail/geometry.hpp"

#include <complex>
#include <utility>

namespace plait::fft::detail {

namespace {

ArrayLayout layout_of(const std::array<Index, 3>& lengths, const std::array<Range, 3>& parts) {
  ArrayLayout layout{.lengths = lengths};
  for (int axis = 0; axis < 3; ++axis) {
    layout.box.low[axis] = parts[axis].low;
    layout.box.high[axis] = parts[axis].high;
  }
  layout.stride = {layout.box.extent(1) * layout.box.extent(2), layout.box.extent(2), 1};
  return layout;
}

/// `counts_of(member)`: the numbers that are sent and received.
template <class Counts>
BlockBytes bytes_of_others(std::uint32_t members, std::uint32_t self, Counts counts_of) {
  BlockBytes bytes{std::vector<std::size_t>(members), std::vector<std::size_t>(members)};
  for (std::uint32_t member = 0; member < members; ++member) {
    if (member != self) {
      const auto [to, from] = counts_of(member);
      bytes.to[member] = static_cast<std::size_t>(to) * sizeof(std::complex<double>);
      bytes.from[member] = static_cast<std::size_t>(from) * sizeof(std::complex<double>);
    }
  }
  return bytes;
}

}  // namespace

Geometry::Geometry(const std::array<Index, 3>& array_lengths, Kind array_kind, const TransformGrid& ranks, Rank self)
    : lengths{array_lengths},
      spectral_length{array_kind == Kind::real ? array_lengths[2] / 2 + 1 : array_lengths[2]},
      kind{array_kind},
      grid{ranks},
      in_row{self.value() % ranks.row},
      in_column{self.value() / ranks.row} {}

ArrayLayout Geometry::physical() const {
  return layout_of(lengths, {planes(), rows(), Range{0, lengths[2]}});
}

ArrayLayout Geometry::spectral() const {
  return layout_of({lengths[0], lengths[1], spectral_length}, {Range{0, lengths[0]}, spectral_rows(), columns()});
}

BlockBytes Geometry::row_bytes() const {
  return bytes_of_others(
      grid.row, in_row, [this](std::uint32_t member) { return std::pair{row_before(member), row_after(member)}; });
}

BlockBytes Geometry::column_bytes() const {
  return bytes_of_others(grid.column, in_column, [this](std::uint32_t member) {
    return std::pair{column_before(member), column_after(member)};
  });
}

}  // namespace plait::fft::detail
