// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "cosmology/universe.hpp"

namespace cosmology {

/// The spectrum of primordial disturbances, and their strength today.
struct PowerShape {
  double sigma8 = 0.8102;      ///< The standard deviation in spheres of radius 8 Mpc/h, by linear growth, today.
  double index = 0.9665;       ///< The primordial power is that of k.
  std::filesystem::path file;  ///< Two columns, k in 1/Mpc and the power today in Mpc^3; empty: a formula.
};

/// The power spectrum of density that linear theory predicts for today.
///
/// Formula: Eisenstein and Hu, Astrophys. J. 496, 1998, equations 26 and 28 to 31: the mean course, without acoustic
/// oscillations. A file's is interpolated in logarithms, and is 0 outside of it.
class LinearPower {
 public:
  /// Throws: `plait::Error` for a file that cannot be read, or has no increasing positive numbers.
  LinearPower(const Universe& universe, const PowerShape& shape);

  /// In Mpc^3, for `k` > 0 in 1/Mpc.
  [[nodiscard]] double operator()(double k) const;
  /// The standard deviation of the density contrast in spheres of `radius`, in Mpc.
  [[nodiscard]] double deviation(double radius) const;

 private:
  [[nodiscard]] double transfer(double k) const;

  Universe universe_;
  double index_;
  double norm_ = 1;
  std::vector<double> log_k_;  ///< Of the file.
  std::vector<double> log_power_;
};

}  // namespace cosmology
