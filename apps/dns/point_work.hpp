// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace dns {

// Work on points in a row in memory. Compiled for wide vectors; no allocation. Threads: any.

/// What a row of velocities showed.
struct Speeds {
  double rate = 0;        ///< Largest sum over axes of |u_a| / h_a; infinite when one is not finite.
  double square_max = 0;  ///< Largest u . u.

  void add(const Speeds& other) noexcept {
    rate = other.rate > rate ? other.rate : rate;
    square_max = other.square_max > square_max ? other.square_max : square_max;
  }
};

/// omega = u x omega. `inverse_step`: 1 / h by axis. Returns `rate` only.
Speeds cross_in_place(const std::array<const double*, 3>& u,
                      const std::array<double*, 3>& omega,
                      std::size_t count,
                      const std::array<double, 3>& inverse_step) noexcept;

/// flux[a] = u[a] * theta, where flux[0] has theta before.
void flux_in_place(const std::array<const double*, 3>& u,
                   const std::array<double*, 3>& flux,
                   std::size_t count) noexcept;

Speeds speeds(const std::array<const double*, 3>& u,
              std::size_t count,
              const std::array<double, 3>& inverse_step) noexcept;

/// Sums of values[i]^2 and values[i]^3.
[[nodiscard]] std::array<double, 2> moments(const double* values, std::size_t count) noexcept;

}  // namespace dns
