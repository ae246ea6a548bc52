// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace dns {

/// The source of energy at low wave numbers.
enum class ForcingKind : std::uint8_t {
  none,
  hold_energy,     ///< After each step, resets each shell up to `wavenumber_max` to its initial energy.
  constant_power,  ///< After each step, scales the modes up to `wavenumber_max` so that they gain power x dt.
  stochastic,      ///< Accelerates each mode up to `wavenumber_max` at random; see `variance`.
};

struct Forcing {
  ForcingKind kind = ForcingKind::none;
  /// Modes with 0 < |k| <= this are forced.
  double wavenumber_max = 2;
  /// Of `constant_power`: energy per mass and time.
  double power = 0.1;
  /// Of `stochastic`: each complex component of a mode's acceleration is an Ornstein-Uhlenbeck process of this variance
  /// and correlation time, projected to be free of divergence. Eswaran and Pope, "An examination of forcing in direct
  /// numerical simulations of turbulence", Computers and Fluids 16, 1988.
  double variance = 0.01;
  double correlation_time = 1;
  std::uint64_t seed = 1;
};

/// A passive scalar: d theta/dt + u . (grad theta + G) = nu / Sc laplace theta.
struct ScalarPhysics {
  std::string name = "scalar";
  double schmidt = 1;                     ///< Viscosity over diffusivity.
  std::array<double, 3> mean_gradient{};  ///< G: the scalar is G . x + theta; theta is computed.
};

/// Incompressible flow in a periodic box of 2 pi: du/dt = u x omega - grad p + nu laplace u + f, div u = 0.
struct Physics {
  double viscosity = 0.01;
  Forcing forcing;
  std::vector<ScalarPhysics> scalars;
};

enum class Integrator : std::uint8_t { rk2, rk4 };

/// How aliasing errors of products are removed. h: the grid spacing.
enum class Dealiasing : std::uint8_t {
  none,               ///< Zeroes the Nyquist modes only.
  truncation,         ///< Keeps |k_a| < N_a / 3 along each axis a: exact.
  phase_shift,        ///< Averages two grids h / 2 apart, keeps |k| < sqrt(2) / 3 N: exact, for twice the transforms.
  phase_shift_step,   ///< Alternates the two grids between stages: aliasing cancels up to O(dt).
  phase_shift_random  ///< As before, and shifts both grids by a new random part of h each step.
};

/// The numerical scheme. Viscosity and diffusion are exact in time (integrating factors).
struct Scheme {
  Integrator integrator = Integrator::rk4;
  Dealiasing dealiasing = Dealiasing::truncation;
  std::uint64_t seed = 1;  ///< Of `phase_shift_random`.
};

/// The largest stable Courant number: dt times the largest sum over axes of |u_a| / h_a. Advection of the largest wave
/// number that is kept may come to 2 sqrt(2) with the fourth-order scheme. The second-order scheme has no stable range;
/// at the limit used here, 1, a mode that is only advected grows by at most an eighth per step.
[[nodiscard]] constexpr double courant_limit(const Scheme& scheme) noexcept {
  double k_h = std::numbers::pi;  // the largest wave number along an axis, times h
  if (scheme.dealiasing == Dealiasing::truncation) {
    k_h *= 2.0 / 3;
  } else if (scheme.dealiasing != Dealiasing::none) {
    k_h *= 2 * std::numbers::sqrt2 / 3;
  }
  return (scheme.integrator == Integrator::rk4 ? 2 * std::numbers::sqrt2 : 1) / k_h;
}

}  // namespace dns
