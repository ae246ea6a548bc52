// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "plait/base/id.hpp"
#include "plait/fft/exchange.hpp"
#include "plait/fft/layout.hpp"
#include "plait/fft/plan.hpp"

namespace plait::fft::detail {

/// A rank's part of the array in physical space, between the exchanges, and in spectral space.
///
/// Between the exchanges axis 1 is whole, axis 0 is divided over the column, axis 2 over the row. Blocks are
/// contiguous, with axis 0 outermost and axis 2 innermost.
struct Geometry {
  std::array<Index, 3> lengths{};
  Index spectral_length = 0;  ///< Of axis 2.
  Kind kind = Kind::real;
  TransformGrid grid;
  std::uint32_t in_row = 0;     ///< This rank's place in its row.
  std::uint32_t in_column = 0;  ///< This rank's place in its column.

  Geometry() = default;
  Geometry(const std::array<Index, 3>& array_lengths, Kind array_kind, const TransformGrid& ranks, Rank self);

  [[nodiscard]] Range planes(std::uint32_t column_place) const {
    return part_of(lengths[0], grid.column, column_place);
  }
  [[nodiscard]] Range rows(std::uint32_t row_place) const { return part_of(lengths[1], grid.row, row_place); }
  [[nodiscard]] Range spectral_rows(std::uint32_t column_place) const {
    return part_of(lengths[1], grid.column, column_place);
  }
  [[nodiscard]] Range columns(std::uint32_t row_place) const { return part_of(spectral_length, grid.row, row_place); }
  // This rank's own.
  [[nodiscard]] Range planes() const { return planes(in_column); }
  [[nodiscard]] Range rows() const { return rows(in_row); }
  [[nodiscard]] Range spectral_rows() const { return spectral_rows(in_column); }
  [[nodiscard]] Range columns() const { return columns(in_row); }

  [[nodiscard]] ArrayLayout physical() const;
  [[nodiscard]] ArrayLayout spectral() const;

  // The complex numbers in one plane of a block, and in the block.
  // In the row: own part of axis 1 and the member's part of axis 2, or the reverse.
  [[nodiscard]] Index row_plane_before(std::uint32_t member) const { return rows().count() * columns(member).count(); }
  [[nodiscard]] Index row_plane_after(std::uint32_t member) const { return rows(member).count() * columns().count(); }
  [[nodiscard]] Index row_before(std::uint32_t member) const { return planes().count() * row_plane_before(member); }
  [[nodiscard]] Index row_after(std::uint32_t member) const { return planes().count() * row_plane_after(member); }
  // In the column: own planes and the member's part of axis 1, or the reverse.
  [[nodiscard]] Index column_plane_before(std::uint32_t member) const {
    return spectral_rows(member).count() * columns().count();
  }
  [[nodiscard]] Index column_plane_after() const { return spectral_rows().count() * columns().count(); }
  [[nodiscard]] Index column_before(std::uint32_t member) const {
    return planes().count() * column_plane_before(member);
  }
  [[nodiscard]] Index column_after(std::uint32_t member) const { return planes(member).count() * column_plane_after(); }

  /// The bytes of the exchanges in a forward transform. Backward, the reverse.
  [[nodiscard]] BlockBytes row_bytes() const;
  [[nodiscard]] BlockBytes column_bytes() const;
};

}  // namespace plait::fft::detail
