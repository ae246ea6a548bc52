// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plait/plait.hpp"

#include "dns/physics.hpp"

namespace dns {

using plait::fft::Box;
using plait::fft::Index;
using plait::fft::Layout;

/// The wave number of index `i` along an axis of `length` points.
[[nodiscard]] constexpr Index wave_number(Index i, Index length) noexcept {
  return 2 * i <= length ? i : i - length;
}

/// The modes of this rank: their wave numbers, and which of them dealiasing keeps.
///
/// A line is the modes with the same k0 and k1. Those kept of a line are its first ones, as |k2| grows along it.
class Modes {
 public:
  /// Of `lengths` points, those in `spectral`. Cost: one number a line.
  Modes(const std::array<Index, 3>& lengths, const Layout& spectral, Dealiasing dealiasing);

  [[nodiscard]] const std::array<Index, 3>& lengths() const noexcept { return lengths_; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  /// Wave numbers along axis 0, 1 or 2 by the index after the box's first.
  [[nodiscard]] const std::vector<double>& k(int axis) const noexcept { return k_[axis]; }
  /// Those along axis 2, each twice: beside real and imaginary parts.
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
