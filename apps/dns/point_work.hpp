// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace dns {

// Work on consecutive points in memory. Compiled for wide vectors; no allocation. Threads: any.

struct Speeds {
  double rate = 0;        ///< Largest sum over axes of |u_a| / h_a; infinite if one is not finite.
  double square_max = 0;  ///< Largest u . u.

  [[nodiscard]] static Speeds larger(const Speeds& one, const Speeds& other) noexcept {
    return {std::max(one.rate, other.rate), std::max(one.square_max, other.square_max)};
  }
};

/// omega = u x omega. `inverse_step`: 1 / h by axis. Returns `rate` only.
Speeds cross_in_place(const std::array<const double*, 3>& u,
                      const std::array<double*, 3>& omega,
                      std::size_t count,
                      const std::array<double, 3>& inverse_step) noexcept;

/// flux[a] = u[a] * theta. flux[0] contains theta on entry.
void flux_in_place(const std::array<const double*, 3>& u,
                   const std::array<double*, 3>& flux,
                   std::size_t count) noexcept;

Speeds speeds(const std::array<const double*, 3>& u,
              std::size_t count,
              const std::array<double, 3>& inverse_step) noexcept;

/// Sums of values[i]^2 and values[i]^3.
[[nodiscard]] std::array<double, 2> moments(const double* values, std::size_t count) noexcept;

}  // namespace dns
