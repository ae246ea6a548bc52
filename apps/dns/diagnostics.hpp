// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/plait.hpp"

#include "dns/modes.hpp"
#include "dns/physics.hpp"

namespace dns {

struct ScalarDiagnostics {
  double mean = 0;
  double variance = 0;           ///< Mean square of the deviation from the mean.
  double dissipation = 0;        ///< 2 nu / Sc <|grad theta|^2>, so that d variance/dt = production - dissipation.
  double production = 0;         ///< -2 <u theta> . G, by the mean gradient.
  std::vector<double> spectrum;  ///< By the velocity's shells; sums up to the variance / 2.
};

/// Measurements of a flow at one time; the same on all ranks. Lengths are in units where the box is 2 pi; energies are
/// per mass.
struct Diagnostics {
  double time = 0;
  std::uint64_t step = 0;

  // Computed from the modes.
  double energy = 0;             ///< <u . u> / 2.
  double enstrophy = 0;          ///< <omega . omega> / 2.
  double dissipation = 0;        ///< 2 nu enstrophy.
  double helicity = 0;           ///< <u . omega> / 2.
  double divergence = 0;         ///< Root mean square of div u: rounding errors.
  double taylor_scale = 0;       ///< lambda = sqrt(5 energy / enstrophy).
  double taylor_reynolds = 0;    ///< u' lambda / nu, with u'^2 = 2/3 energy. 0 without viscosity.
  double kolmogorov_scale = 0;   ///< eta = (nu^3 / dissipation)^(1/4). 0 without viscosity.
  double k_max = 0;              ///< All modes up to this wave number are kept.
  double k_max_eta = 0;          ///< Resolution: 1 for low moments, 1.5 and more for gradients.
  double integral_scale = 0;     ///< pi / (2 u'^2) times the sum of E(k) / k.
  double turnover_time = 0;      ///< integral_scale / u'.
  double forcing_power = 0;      ///< Energy per time that forcing added during the last step.
  std::vector<double> spectrum;  ///< E(k) by shells of k - 1/2 <= |k| < k + 1/2; sums up to the energy.
  std::vector<ScalarDiagnostics> scalars;

  // Computed with transforms.
  double skewness = 0;           ///< Mean of <(du_a/dx_a)^3> / <(du_a/dx_a)^2>^(3/2) over the axes a.
  double u_max = 0;              ///< Largest |u| on the grid.
  double courant_rate = 0;       ///< Largest sum of |u_a| / h_a: times dt, the Courant number.
  std::vector<double> transfer;  ///< T(k): energy per time that advection brings into each shell; sums up to 0.
};

/// Sets the members that are computed from the modes. Collective: one reduction of some numbers per shell.
void measure_modes(
    const Modes& modes, const Fields& fields, const Physics& physics, plait::Group& group, Diagnostics& out);

/// Adds `factor` Re(conj u . n) of this rank to each shell of `transfer`.
void add_transfer(const Modes& modes,
                  const Fields& fields,
                  const std::array<Array, 3>& right_side,
                  double factor,
                  std::span<double> transfer);

}  // namespace dns
