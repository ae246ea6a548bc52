// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace plait::particles {

/// Divides the potential 1 / r of a charge into a smooth part, for a mesh, and a rest of short range, for a tree.
///
/// The smooth part is erf(r / (2 s)) / r, the potential of a Gaussian cloud, with the length s of the split. The rest
/// is erfc(r / (2 s)) / r, and is neglected from the cut-off on. Within the cut-off, a polynomial in r^2 replaces erf(r
/// / (2 s)) / r, with an error below 3e-10 / s for cut-offs of up to 6 s; in single precision one of lower degree, with
/// an error below 1e-6 / s. Formula: Bagla, "TreePM", J. Astrophys. Astron. 23, 2002.
class ForceSplit {
 public:
  static constexpr std::size_t degree = 14;
  static constexpr std::size_t single_degree = 10;
  /// The cut-off in lengths of the split up to which the polynomial has the error above.
  static constexpr double cutoff_max = 6;

  /// Both in units of the positions. Throws: `Error` with `bad_argument` unless 0 < cutoff <= 6 scale.
  ForceSplit(double scale, double cutoff);

  [[nodiscard]] double scale() const noexcept { return scale_; }
  [[nodiscard]] double cutoff() const noexcept { return cutoff_; }

  /// The coefficients of powers of x = 2 (r / cutoff)^2 - 1 in the smooth potential of a unit charge.
  [[nodiscard]] const std::array<double, degree + 1>& potential() const noexcept { return potential_; }
  /// The same for the smooth force on a unit charge, divided by r.
  [[nodiscard]] const std::array<double, degree>& force_over_r() const noexcept { return force_over_r_; }
  /// Both in single precision.
  [[nodiscard]] const std::array<float, single_degree + 1>& single_potential() const noexcept {
    return single_potential_;
  }
  [[nodiscard]] const std::array<float, single_degree>& single_force_over_r() const noexcept {
    return single_force_over_r_;
  }

 private:
  double scale_;
  double cutoff_;
  std::array<double, degree + 1> potential_{};
  std::array<double, degree> force_over_r_{};
  std::array<float, single_degree + 1> single_potential_{};
  std::array<float, single_degree> single_force_over_r_{};
};

}  // namespace plait::particles
