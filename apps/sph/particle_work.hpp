// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "sph/gas.hpp"
#include "sph/pair_sums.hpp"

// The work on single particles between the sums over neighbours. A step is
//   kick (half) - drift - sum_density, until improve_smoothing returns `found` - finish_density - sum_forces -
//   finish_forces - kick (half) - time_step
// drift moves all particles; the others concern only those whose step ends.

namespace sph {

/// The state of one particle's search for its smoothing length; a new one for each step.
struct SmoothingSearch {
  float low = 0;
  float high = std::numeric_limits<float>::infinity();
  std::uint32_t tries = 0;
};
enum class Smoothing : std::uint8_t { found, again };

/// Returns `found` if the sums fit the smoothing length of particle `i`. Else changes the length by a step of Newton's
/// method or a bisection, and returns `again`: the sums must be computed again.
/// Throws: `Error` with `bad_input` that names the particle, if its length is not positive or does not converge.
[[nodiscard]] Smoothing improve_smoothing(
    const Gas& gas, std::size_t i, const DensitySums& sums, const Scheme& scheme, SmoothingSearch& search);

/// Sets density, pressure, viscosity and conduction of particle `i` from its last sums.
/// Throws: `Error` with `bad_input` that names the particle, if the density is not positive.
void finish_density(const Gas& gas, std::size_t i, const DensitySums& sums, const Scheme& scheme);

/// Sets acceleration and rates of particle `i`.
void finish_forces(const Gas& gas, std::size_t i, const ForceSums& sums);

/// The longest step that particle `i` may take: by Courant's condition, by its acceleration, and until its smoothing
/// length has changed by a third. Throws: `Error` with `bad_input` that names the particle and the reason, if the step
/// is shorter than `shortest` or not finite.
[[nodiscard]] double time_step(const Gas& gas, std::size_t i, const Scheme& scheme, double shortest);

/// Changes velocity and energy of particle `i` by its rates over `duration`, half a step.
void kick(const Gas& gas, std::size_t i, const Scheme& scheme, double duration);
/// Resets the predictions of particle `i` after the kick that ends its step.
void settle(const Gas& gas, std::size_t i);
/// Moves particle `i`, and predicts the fields that neighbours read.
void drift(const Gas& gas, std::size_t i, const Scheme& scheme, double duration);

/// Particle `i` as a target, relative to `origin`.
[[nodiscard]] DensityTarget density_target(const Gas& gas, std::size_t i, const Vector& origin);
[[nodiscard]] ForceTarget force_target(const Gas& gas, std::size_t i, const Vector& origin);

}  // namespace sph
