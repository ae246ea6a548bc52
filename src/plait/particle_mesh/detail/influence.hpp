// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <span>
#include <vector>

#include "plait/fft/layout.hpp"
#include "plait/particle_mesh/detail/mesh_patch.hpp"

namespace plait::particles::detail {

/// Turns the transform of charges on a mesh into that of their smooth potential.
///
/// The potential of wave vector k is -4 pi exp(-k^2 s^2) / k^2 for split length s, corrected for what the splines of
/// `spline_order` do when charges are spread and potentials are differentiated and interpolated. The mean potential of
/// smooth and short-range parts together is 0. Source of the correction: Ballenegger, Cerda, Holm, "How to convert SPME
/// into P3M", J. Chem. Theory Comput. 8, 2012, for analytic derivatives.
class Influence {
 public:
  Influence() = default;
  Influence(const PeriodicMesh& mesh, double split_scale);

  /// Multiplies the transform of real charges, in the plan's layout, for indices [first, last) of axis 0 of the part of
  /// this rank. Threads: concurrent for disjoint ranges.
  void apply(const fft::ArrayLayout& layout,
             std::span<std::complex<double>> spectrum,
             fft::Index first,
             fft::Index last) const;

 private:
  /// What one axis contributes at one index, with images m of the wave number.
  struct Wave {
    double filter = 0;      ///< exp(-k^2 s^2) U^2, with the spline's transform U.
    double sum = 0;         ///< Of U(k_m)^2.
    double square_sum = 0;  ///< Of k_m^2 U(k_m)^2.
  };
  [[nodiscard]] static Wave wave(fft::Index index, fft::Index length, double spacing, double split_scale);

  std::array<std::vector<Wave>, 3> waves_;
  double mean_ = 0;
  double per_volume_ = 0;
};

}  // namespace plait::particles::detail
