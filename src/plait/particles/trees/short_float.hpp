// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace plait::particles {

/// A number with 8 significant bits and the range of a float, of which it has the upper 16 bits (bfloat16).
class ShortFloat {
 public:
  ShortFloat() = default;

  /// Rounds to the nearest one: relative error at most 2^-8. Expects: finite.
  [[nodiscard]] static ShortFloat nearest(float value) { return ShortFloat{value, 0x8000U}; }
  /// Rounds away from zero: at most a factor 1 + 2^-7. Expects: not a NaN.
  [[nodiscard]] static ShortFloat at_least(float value) { return ShortFloat{value, 0xffffU}; }

  [[nodiscard]] float value() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16U); }

 private:
  ShortFloat(float value, std::uint32_t added)
      : bits_{static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) + added) >> 16U)} {}

  std::uint16_t bits_ = 0;
};

}  // namespace plait::particles
