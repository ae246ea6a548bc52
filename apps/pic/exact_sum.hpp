// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace pic {

/// A sum of doubles without rounding, which depends neither on the order nor on the division among ranks.
///
/// Kulisch's long accumulator ("Computer arithmetic and validity", 2008): a number wide enough for all exponents, in
/// digits of 32 bits with room for carries. About 3 ns a number.
class ExactSum {
 public:
  void add(double value) noexcept {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto exponent = static_cast<std::uint32_t>(bits >> 52U) & 0x7FFU;
    std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52U) - 1);
    std::uint32_t position = 0;  // of the last bit, from 2^-1074
    if (exponent == 0x7FFU) [[unlikely]] {
      ++parts_[strange];
      return;
    }
    if (exponent != 0) {
      mantissa |= std::uint64_t{1} << 52U;
      position = exponent - 1;
    }
    const std::size_t k = position / 32;
    const std::uint32_t shift = position % 32;
    // 53 bits moved by up to 31: three digits.
    const std::uint64_t low = (mantissa & 0xFFFFFFFFU) << shift;
    const std::uint64_t high = ((mantissa >> 32U) << shift) + (low >> 32U);
    const std::int64_t sign = (bits >> 63U) != 0 ? -1 : 1;
    parts_[k] += sign * static_cast<std::int64_t>(low & 0xFFFFFFFFU);
    parts_[k + 1] += sign * static_cast<std::int64_t>(high & 0xFFFFFFFFU);
    parts_[k + 2] += sign * static_cast<std::int64_t>(high >> 32U);
    if (++adds_ == 1U << 30U) {
      carry();
    }
  }

  /// The digits, which ranks add element by element before they call `value`.
  [[nodiscard]] std::span<std::int64_t> parts() noexcept {
    carry();
    return parts_;
  }

  /// The sum, rounded in the last bits; NaN when a number that was added was not finite.
  [[nodiscard]] double value() noexcept {
    carry();
    if (parts_[strange] != 0) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    // A negative sum is negated first, so that leading digits do not cancel.
    const double sign = parts_[digits - 1] < 0 ? -1 : 1;
    ExactSum size = *this;
    if (sign < 0) {
      for (std::size_t k = 0; k < digits; ++k) {
        size.parts_[k] = -size.parts_[k];
      }
      size.carry();
    }
    double sum = 0;
    for (std::size_t k = digits; k-- > 0;) {
      sum += std::ldexp(static_cast<double>(size.parts_[k]), static_cast<int>(k) * 32 - 1074);
    }
    return sign * sum;
  }

 private:
  static constexpr std::size_t digits = 68;
  static constexpr std::size_t strange = digits;  ///< How many were not finite.

  /// Brings all digits but the last between 0 and 2^32 - 1. Exact.
  void carry() noexcept {
    adds_ = 0;
    std::int64_t over = 0;
    for (std::size_t k = 0; k + 1 < digits; ++k) {
      const std::int64_t digit = parts_[k] + over;
      parts_[k] = digit & 0xFFFFFFFF;
      over = digit >> 32U;
    }
    parts_[digits - 1] += over;
  }

  std::array<std::int64_t, digits + 1> parts_{};
  std::uint32_t adds_ = 0;
};

}  // namespace pic
