// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>

#include "plait/base/random.hpp"

namespace app {

/// Random numbers of one mode at one time; the same on any rank.
class RandomOfMode {
 public:
  RandomOfMode(std::uint64_t seed, const std::array<int, 3>& k, std::uint64_t time = 0) noexcept
      : random_{mixed(mixed(mixed(mixed(mixed(seed) ^ bits(k[0])) ^ bits(k[1])) ^ bits(k[2])) ^ time)} {}

  [[nodiscard]] double unit() noexcept { return random_.unit(); }

  /// Real and imaginary part normally distributed; E|z|^2 = 1.
  [[nodiscard]] std::complex<double> normal() noexcept {
    const double radius = std::sqrt(-std::log(1 - random_.unit()));
    return std::polar(radius, 2 * std::numbers::pi * random_.unit());
  }

 private:
  [[nodiscard]] static std::uint64_t bits(int k) noexcept { return static_cast<std::uint64_t>(std::int64_t{k}); }
  [[nodiscard]] static std::uint64_t mixed(std::uint64_t value) noexcept { return plait::Random{value}(); }

  plait::Random random_;
};

/// In the plane k2 = 0 both a mode and its conjugate are kept; true for the one whose random numbers both use.
[[nodiscard]] constexpr bool decides(const std::array<int, 3>& k) noexcept {
  return k[2] > 0 || (k[2] == 0 && (k[1] > 0 || (k[1] == 0 && k[0] >= 0)));
}

}  // namespace app
