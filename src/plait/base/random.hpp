// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace plait {

/// Pseudorandom numbers that are the same on every machine for the same seed; not for cryptography.
///
/// SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. Meets
/// `std::uniform_random_bit_generator`, but the distributions of <random> differ between libraries: use these functions
/// where runs must be reproducible.
class Random {
 public:
  using result_type = std::uint64_t;

  explicit Random(std::uint64_t seed) noexcept : state_{seed} {}

  [[nodiscard]] static constexpr result_type min() noexcept { return 0; }
  [[nodiscard]] static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }

  result_type operator()() noexcept {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
  }

  /// One of 0 .. bound - 1. Expects: `bound` is not 0. The bias is below bound / 2^64.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept { return (*this)() % bound; }

  /// In [0, 1).
  [[nodiscard]] double unit() noexcept { return static_cast<double>((*this)() >> 11U) * 0x1p-53; }

  /// Gaussian of mean 0 and deviation 1: G. E. P. Box and M. E. Muller, "A note on the generation of random normal
  /// deviates", 1958. The last bits are those of the machine's logarithm and cosine.
  [[nodiscard]] double normal() noexcept {
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    return radius * std::cos(2 * std::numbers::pi * unit());
  }

  [[nodiscard]] bool happens(double probability) noexcept { return unit() < probability; }

 private:
  std::uint64_t state_;
};

}  // namespace plait
