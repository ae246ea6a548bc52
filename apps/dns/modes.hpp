// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/physics.hpp"

namespace dns {

using Box = plait::fft::IndexBox;
using plait::fft::Index;
using Layout = plait::fft::ArrayLayout;

/// The wave number of index `i` along an axis of `length` points.
[[nodiscard]] constexpr Index wave_number(Index i, Index length) noexcept {
  return 2 * i <= length ? i : i - length;
}

/// The ranks that own the lines along axis 0 in spectral space.
class LineOwners {
 public:
  LineOwners(const std::array<Index, 3>& spectral_lengths, const plait::fft::TransformGrid& grid);
  /// 0 for lines that do not exist.
  [[nodiscard]] std::uint32_t of(std::size_t i1, std::size_t i2) const noexcept {
    return i1 < column_.size() && i2 < row_.size() ? row_[i2] + grid_.row * column_[i1] : 0;
  }

 private:
  plait::fft::TransformGrid grid_;
  std::vector<std::uint32_t> column_;  ///< By index along axis 1.
  std::vector<std::uint32_t> row_;     ///< By index along axis 2.
};

/// The modes of this rank: their wave numbers, and which of them dealiasing keeps.
///
/// A line is the modes with the same k0 and k1. Those kept of a line are its first ones, as |k2| grows along it.
class Modes {
 public:
  /// Of `lengths` points, those in `spectral`. Cost: one number a line.
  Modes(const std::array<Index, 3>& lengths, const Layout& spectral, Dealiasing dealiasing);

  [[nodiscard]] const std::array<Index, 3>& lengths() const noexcept { return lengths_; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  /// 1 / h by axis, where h is the grid's step.
  [[nodiscard]] std::array<double, 3> inverse_step() const noexcept;
  /// Wave numbers along an axis, by index from the beginning of the box.
  [[nodiscard]] const std::vector<double>& k(int axis) const noexcept { return k_[axis]; }
  /// Those along axis 2, each twice: for real and imaginary parts.
  [[nodiscard]] const std::vector<double>& k2_twice() const noexcept { return k2_twice_; }

  /// How many modes of this rank's part of the line are kept; indices of the whole array.
  [[nodiscard]] Index kept(Index i0, Index i1) const noexcept {
    return kept_[(i0 - layout_.box.low[0]) * layout_.box.extent(1) + i1 - layout_.box.low[1]];
  }
  [[nodiscard]] bool is_kept(const std::array<Index, 3>& k) const noexcept;

  /// Up to which wave number all are kept.
  [[nodiscard]] double k_max() const noexcept { return k_max_; }
  /// Shells 0 ... shells() - 1 have all that are kept.
  [[nodiscard]] std::size_t shells() const noexcept { return shells_; }

 private:
  [[nodiscard]] bool is_spherical() const noexcept {
    return dealiasing_ != Dealiasing::none && dealiasing_ != Dealiasing::truncation;
  }
  [[nodiscard]] Index kept_of_line(Index k0, Index k1) const noexcept;

  std::array<Index, 3> lengths_;
  Layout layout_;
  Dealiasing dealiasing_;
  std::array<std::vector<double>, 3> k_;
  std::vector<double> k2_twice_;
  std::vector<std::int32_t> kept_;
  double k_max_ = 0;
  std::size_t shells_ = 1;
};

}  // namespace dns
