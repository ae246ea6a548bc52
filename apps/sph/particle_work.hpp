// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "sph/gas.hpp"
#include "sph/pair_sums.hpp"

// What is done to single particles between the sums over neighbours. A step of any length is
//   kick (half) - drift - sum_density until improve_smoothing has it - finish_density - sum_forces - finish_forces -
//   kick (half) - time_step
// where drift moves all particles, also those whose own step goes on, and the others only those whose step ends.

namespace sph {

/// What one particle's search for its smoothing length has found so far; a new one for each step.
struct SmoothingSearch {
  float low = 0;
  float high = std::numeric_limits<float>::infinity();
  std::uint32_t tries = 0;
};
enum class Smoothing : std::uint8_t { found, again };

/// Checks the sums with the present smoothing length of particle `i`: `found` when they are good enough, else changes
/// the length (a step of Newton's, or a bisection) and wants the sums `again`.
/// Throws: `Error` with `bad_input` that names the particle, when its length is no positive number or does not settle.
[[nodiscard]] Smoothing improve_smoothing(
    const Gas& gas, std::size_t i, const DensitySums& sums, const Scheme& scheme, SmoothingSearch& search);

/// Makes density, pressure's factors, viscosity and conduction of particle `i` from its last sums.
/// Throws: `Error` with `bad_input` that names the particle, when the density is no positive number.
void finish_density(const Gas& gas, std::size_t i, const DensitySums& sums, const Scheme& scheme);

/// Makes acceleration and rates of particle `i`.
void finish_forces(const Gas& gas, std::size_t i, const ForceSums& sums);

/// The longest step that particle `i` may take now: Courant's, or until its smoothing length has changed by a third;
/// with gravity also eta sqrt(h/|a|). Throws: `Error` with `bad_input` that names the particle and what makes it short,
/// when the step is shorter than `shortest` or no number.
[[nodiscard]] double time_step(const Gas& gas, std::size_t i, const Scheme& scheme, double shortest);

/// Changes velocity and energy of particle `i` by its rates over `duration`: half of a step at its end and half of the
/// next at its begin.
void kick(const Gas& gas, std::size_t i, const Scheme& scheme, double duration);
/// After the kick that ends a step: what is predicted is what is.
void settle(const Gas& gas, std::size_t i);
/// Moves particle `i` on, and predicts what neighbours see of it.
void drift(const Gas& gas, std::size_t i, const Scheme& scheme, double duration);

/// What targets and sources are made of.
[[nodiscard]] DensityTarget density_target(const Gas& gas, std::size_t i, const Vector& origin);
[[nodiscard]] ForceTarget force_target(const Gas& gas, std::size_t i, const Vector& origin);

}  // namespace sph
