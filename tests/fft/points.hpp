// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <numbers>
#include <vector>

#include "plait/fft/layout.hpp"

namespace plait::fft::test {

using Complex = std::complex<double>;

/// A number between -1 and 1 for each point, the same on every rank.
inline double noise(const std::array<Index, 3>& point, std::uint64_t seed) {
  std::uint64_t bits = seed;
  for (const Index index : point) {
    bits = (bits ^ static_cast<std::uint64_t>(index)) * 0x9e37'79b9'7f4a'7c15U;
    bits ^= bits >> 29U;
  }
  return static_cast<double>(bits >> 11U) / static_cast<double>(1ULL << 52U) - 1;
}

/// Calls `act(point, place in memory)` for each point of this rank.
template <class Act>
void for_each_point(const ArrayLayout& layout, Act act) {
  for (Index i = layout.box.low[0]; i < layout.box.high[0]; ++i) {
    for (Index j = layout.box.low[1]; j < layout.box.high[1]; ++j) {
      for (Index k = layout.box.low[2]; k < layout.box.high[2]; ++k) {
        act(std::array{i, j, k}, static_cast<std::size_t>(layout.offset(i, j, k)));
      }
    }
  }
}

/// The sum over all points that defines a transform, of `value(point)`, for all wave numbers along one axis after the
/// other: O(N^4), for small arrays. Axis 2 is fastest.
inline std::vector<Complex> plain_transform(const std::array<Index, 3>& lengths,
                                            const std::function<Complex(const std::array<Index, 3>&)>& value,
                                            int sign) {
  const ArrayLayout layout{lengths, {{}, lengths}, {lengths[1] * lengths[2], lengths[2], 1}};
  std::vector<Complex> now(static_cast<std::size_t>(layout.size()));
  for_each_point(layout, [&](const auto& point, std::size_t place) { now[place] = value(point); });
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<Complex> next(now.size());
    for_each_point(layout, [&](const std::array<Index, 3>& wave, std::size_t place) {
      std::array<Index, 3> point = wave;
      for (point[axis] = 0; point[axis] < lengths[axis]; ++point[axis]) {
        const auto turns =
            static_cast<double>(wave[axis] * point[axis] % lengths[axis]) / static_cast<double>(lengths[axis]);
        next[place] += now[static_cast<std::size_t>(layout.offset(point[0], point[1], point[2]))] *
                       std::polar(1.0, sign * 2 * std::numbers::pi * turns);
      }
    });
    now = std::move(next);
  }
  return now;
}

}  // namespace plait::fft::test
