// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

namespace plait::particles {

/// A set of particle kinds, which are numbers below 64. A default-constructed set contains all kinds.
class Kinds {
 public:
  constexpr Kinds() = default;
  constexpr Kinds(std::initializer_list<std::uint8_t> kinds) : bits_{0} {
    for (const std::uint8_t kind : kinds) {
      bits_ |= std::uint64_t{1} << (kind & 63U);
    }
  }
  /// The kinds whose bit is set.
  [[nodiscard]] static constexpr Kinds from_bits(std::uint64_t bits) noexcept {
    Kinds kinds;
    kinds.bits_ = bits;
    return kinds;
  }
  [[nodiscard]] static constexpr Kinds none() noexcept { return from_bits(0); }

  [[nodiscard]] constexpr bool has(std::uint8_t kind) const noexcept { return (bits_ >> (kind & 63U) & 1U) != 0; }
  /// A bit for each kind.
  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr bool are_all() const noexcept { return bits_ == ~std::uint64_t{0}; }
  friend constexpr bool operator==(const Kinds&, const Kinds&) = default;

 private:
  std::uint64_t bits_ = ~std::uint64_t{0};
};

}  // namespace plait::particles
