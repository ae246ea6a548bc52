// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "sph/smoothing_kernel.hpp"

namespace sph {

/// The treatment of shocks and contacts.
enum class SchemeKind : std::uint8_t {
  /// Density and energy, viscosity of a fixed strength (Monaghan, 1997; Price, 2012) with Balsara's switch (1995).
  minimal,
  /// Density and energy; a viscosity per particle that rises where the flow converges and decays behind (Cullen and
  /// Dehnen, 2010); conduction at jumps of the energy (Price, 2008). As combined by Borrow et al. ("Sphenix", 2022).
  modern,
  /// The same with a viscosity that acts on what differs from a linear flow only: velocities are continued to the
  /// middle of each pair by the gradients of both, limited where these disagree (Frontiere, Raskin and Owen, 2017;
  /// Rosswog, 2020). Shear and smooth convergence are not dissipated.
  reconstructed,
};
struct SchemeName {
  std::string_view name;
  SchemeKind kind;
};
inline constexpr std::array scheme_names{SchemeName{"minimal", SchemeKind::minimal},
                                         SchemeName{"modern", SchemeKind::modern},
                                         SchemeName{"reconstructed", SchemeKind::reconstructed}};

/// The signs of a shock at which the viscosity of the reconstructed scheme rises. Noise of particles is a weak sign,
/// too, and its viscosity slows down waves of shear: flows slower than sound wait for strong ones.
enum class ShockSigns : std::uint8_t { weak, strong };
struct ShockSignsName {
  std::string_view name;
  ShockSigns signs;
};
inline constexpr std::array shock_signs_names{ShockSignsName{"weak", ShockSigns::weak},
                                              ShockSignsName{"strong", ShockSigns::strong}};

/// Gravity with Plummer softening; none if the constant is 0.
struct GravitySettings {
  double constant = 0;
  double softening = 0;
  double accuracy = 0.025;  ///< Limits steps to sqrt(2 accuracy softening / |a|).
  double step_max = std::numeric_limits<double>::infinity();
  double theta = 0.5;  ///< Opening angle of trees.

  friend bool operator==(const GravitySettings&, const GravitySettings&) = default;
};

/// The parameters that determine the result of a run, besides its particles.
struct Scheme {
  SchemeKind kind = SchemeKind::reconstructed;
  KernelKind kernel = KernelKind::cubic_spline;
  ShockSigns signs = ShockSigns::weak;
  float gamma = 5.0F / 3;  ///< Ratio of specific heats: P = (gamma - 1) rho u.
  float eta = 1.2348F;     ///< Smoothing length in mean distances; 48 neighbours with the cubic spline.
  float smoothing_tolerance = 1e-4F;
  float smoothing_max = std::numeric_limits<float>::infinity();  ///< Of a particle that finds no neighbours.
  float courant = 0.1F;
  float viscosity = 0.8F;         ///< Of the minimal scheme.
  float viscosity_decay = 0.05F;  ///< Of the schemes with switches: rate behind a shock, by the support's crossings.
  float conduction_max = 1.0F;
  float conduction_rise = 1.0F;
  float energy_min = 0;  ///< Lower limit of the specific internal energy.
  GravitySettings gravity{};

  friend bool operator==(const Scheme&, const Scheme&) = default;
};

/// How a scheme's viscosity answers to shocks.
struct ShockViscosity {
  float min = 0;     ///< The strength far from shocks, which damps the noise of particles that settle.
  float max = 2.0F;  ///< The strength in shocks.
  /// A convergence that quickens by the square of this part of the signal speed over the support gives half of `max`.
  float onset = 1;
  /// Weight of the speed at which a pair approaches, beside its sounds, in the signal speed of the viscosity: 3 is
  /// Monaghan's (1997), 1 and 2 are Price's (2008; Price et al., 2018).
  float approach = 3;
  bool ignores_free_fall = false;  ///< Whether convergence of gas without forces is no sign of a shock.
};
/// By default as Borrow et al. (2022). What the reconstructed scheme leaves of a pair's velocity is small also in
/// shocks: there viscosity rises at weaker signs, to a lower strength. `minimal` uses `approach` only.
[[nodiscard]] constexpr ShockViscosity shock_viscosity(const Scheme& scheme) {
  if (scheme.kind != SchemeKind::reconstructed || scheme.signs == ShockSigns::strong) {
    return {};
  }
  return {.min = 0.2F, .max = 1.0F, .onset = 0.2F, .approach = 1.5F, .ignores_free_fall = true};
}

}  // namespace sph
