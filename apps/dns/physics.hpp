// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dns {

/// What keeps turbulence going, at low wave numbers.
enum class ForcingKind : std::uint8_t {
  none,
  hold_energy,     ///< After each step each shell up to `wavenumber_max` gets back the energy that it had at first.
  constant_power,  ///< The modes up to `wavenumber_max` are scaled after each step, so that power x dt comes in.
  stochastic,      ///< A random acceleration of each mode up to `wavenumber_max`; see `variance`.
};

struct Forcing {
  ForcingKind kind = ForcingKind::none;
  /// Modes with 0 < |k| <= this are forced.
  double wavenumber_max = 2;
  /// Of `constant_power`: energy per mass and time.
  double power = 0.1;
  /// Of `stochastic`: each complex component of the acceleration of each mode is an Ornstein-Uhlenbeck process of this
  /// variance and this time of correlation, made free of divergence. Eswaran and Pope, "An examination of forcing in
  /// direct numerical simulations of turbulence", Computers and Fluids 16, 1988.
  double variance = 0.01;
  double correlation_time = 1;
  std::uint64_t seed = 1;
};

/// Something that the flow carries along and that diffuses: d theta/dt + u . (grad theta + G) = nu / Sc laplace theta.
struct ScalarPhysics {
  std::string name = "scalar";
  double schmidt = 1;                     ///< Viscosity over diffusivity.
  std::array<double, 3> mean_gradient{};  ///< G: the scalar is G . x and, on top of it, what is computed.
};

/// Incompressible flow in a periodic box of 2 pi: du/dt = u x omega - grad p + nu laplace u + f, div u = 0.
struct Physics {
  double viscosity = 0.01;
  Forcing forcing;
  std::vector<ScalarPhysics> scalars;
};

enum class Integrator : std::uint8_t { rk2, rk4 };

/// The treatment of products, which have wave numbers that the grid aliases to lower ones. h: the grid's step.
enum class Dealiasing : std::uint8_t {
  none,               ///< Nothing, but that the modes at half the points are zero.
  truncation,         ///< Only |k_a| < N_a / 3 along each axis a: exact.
  phase_shift,        ///< Mean of two grids h / 2 apart, and |k| < sqrt(2) / 3 N: exact, for twice the transforms.
  phase_shift_step,   ///< Stages of a step alternate between the two grids: aliasing cancels but for O(dt).
  phase_shift_random  ///< As before, and both grids are shifted by a new random part of h each step.
};

/// How the equations are solved. Viscosity and diffusion are exact in time (integrating factors).
struct Scheme {
  Integrator integrator = Integrator::rk4;
  Dealiasing dealiasing = Dealiasing::truncation;
  std::uint64_t seed = 1;  ///< Of `phase_shift_random`.
};

/// The largest stable Courant number: dt times the largest sum over axes of |u_a| / h_a. Where the advection of the
/// largest wave number that is kept comes to 2 sqrt(2), the end of the fourth order scheme's stable range. That of
/// second order has none: where it comes to 1 is taken, where a mode that is only advected grows by an eighth a step at
/// most.
[[nodiscard]] double courant_limit(const Scheme& scheme);

}  // namespace dns
