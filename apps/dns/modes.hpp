// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/physics.hpp"

namespace dns {

using Complex = std::complex<double>;
using Array = std::vector<Complex>;
using Box = plait::fft::IndexBox;
using plait::fft::Index;
using Layout = plait::fft::ArrayLayout;

/// The state of a flow on this rank: modes in the layout of `Plan::spectral`, so that u(x) = sum of u(k) exp(i k.x).
/// The plan keeps one of two conjugate modes. Nyquist modes, and modes that dealiasing cuts off, are zero.
struct Fields {
  std::vector<Array> u;        ///< Three components.
  std::vector<Array> scalars;  ///< One for each scalar of the physics.
};

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

/// The wave numbers of this rank's modes, and which of them dealiasing keeps.
///
/// A line is the modes with the same k0 and k1. |k2| grows along a line, so the modes kept are its first ones.
class Modes {
 public:
  /// The modes in `spectral` of a grid of `lengths` points. Cost: one number per line.
  Modes(const std::array<Index, 3>& lengths, const Layout& spectral, Dealiasing dealiasing);

  [[nodiscard]] const std::array<Index, 3>& lengths() const noexcept { return lengths_; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  /// 1 / h by axis, where h is the grid spacing.
  [[nodiscard]] std::array<double, 3> inverse_step() const noexcept;
  /// Wave numbers along an axis, by index from the beginning of the box.
  [[nodiscard]] const std::vector<double>& k(int axis) const noexcept { return k_[axis]; }
  /// Wave numbers along axis 2, each twice: for real and imaginary parts.
  [[nodiscard]] const std::vector<double>& k2_twice() const noexcept { return k2_twice_; }

  /// The number of modes kept in this rank's part of a line. Indices are those of the whole array.
  [[nodiscard]] Index kept(Index i0, Index i1) const noexcept {
    return kept_[(i0 - layout_.box.low[0]) * layout_.box.extent(1) + i1 - layout_.box.low[1]];
  }
  [[nodiscard]] bool is_kept(const std::array<Index, 3>& k) const noexcept;

  /// All modes up to this wave number are kept.
  [[nodiscard]] double k_max() const noexcept { return k_max_; }
  /// Shells 0 ... shells() - 1 contain all modes that are kept.
  [[nodiscard]] std::size_t shells() const noexcept { return shells_; }

 private:
  [[nodiscard]] bool is_spherical() const noexcept {
    return dealiasing_ != Dealiasing::none && dealiasing_ != Dealiasing::truncation;
  }

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
