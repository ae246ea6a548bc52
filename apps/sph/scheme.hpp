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
  /// middle
  /// of each pair by the gradients of both, limited where these disagree (Frontiere, Raskin and Owen, 2017; Rosswog,
  /// 2020). Shear and smooth convergence are not dissipated.
  reconstructed,
};
struct SchemeName {
  std::string_view name;
  SchemeKind kind;
};
inline constexpr std::array scheme_names{SchemeName{"minimal", SchemeKind::minimal},
                                         SchemeName{"modern", SchemeKind::modern},
                                         SchemeName{"reconstructed", SchemeKind::reconstructed}};

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
  float gamma = 5.0F / 3;  ///< Ratio of specific heats: P = (gamma - 1) rho u.
  float eta = 1.2348F;     ///< Smoothing length in mean distances; 48 neighbours with the cubic spline.
  float smoothing_tolerance = 1e-4F;
  float smoothing_max = std::numeric_limits<float>::infinity();  ///< Of a particle that finds no neighbours.
  float courant = 0.1F;
  float viscosity = 0.8F;         ///< Of the minimal scheme.
  float viscosity_max = 2.0F;     ///< Of the schemes with switches, like the next three.
  float viscosity_decay = 0.05F;  ///< Rate behind a shock, in sound crossings of the support.
  float conduction_max = 1.0F;
  float conduction_rise = 1.0F;
  float energy_min = 0;  ///< Lower limit of the specific internal energy.
  GravitySettings gravity{};

  friend bool operator==(const Scheme&, const Scheme&) = default;
};

}  // namespace sph
