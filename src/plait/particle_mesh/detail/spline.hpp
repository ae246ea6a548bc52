// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace plait::particles::detail {

/// The points along each axis on which a particle's charge is spread. Even.
inline constexpr int spline_order = 6;

/// The first of the points of a particle at `place`, in distances of two points.
[[nodiscard]] inline std::int64_t first_point(double place) {
  return static_cast<std::int64_t>(std::floor(place)) - spline_order / 2 + 1;
}

/// The weights of one particle along one axis: a cardinal B-spline of `spline_order`, and its derivative.
///
/// Points are `first` + 0 ... `spline_order` - 1. Source: Essmann et al., "A smooth particle mesh Ewald method",
/// J. Chem. Phys. 103, 1995, section II.
struct SplineWeights {
  std::int64_t first = 0;
  std::array<double, spline_order> value{};
  std::array<double, spline_order> slope{};  ///< Per distance of two points.

  /// At `place`, in distances of two points.
  explicit SplineWeights(double place) {
    const double f = place - std::floor(place);
    first = first_point(place);
    value[0] = 1 - f;
    value[1] = f;
    for (int order = 3; order <= spline_order; ++order) {
      if (order == spline_order) {
        slope[0] = -value[0];
        for (int i = 1; i < order; ++i) {
          slope[i] = value[i - 1] - value[i];
        }
      }
      // M_n(x) = (x M_(n-1)(x) + (n - x) M_(n-1)(x - 1)) / (n - 1), from the last point to the first.
      for (int i = order - 1; i >= 0; --i) {
        const double x = f + order - 1 - i;
        value[i] = (x * (i > 0 ? value[i - 1] : 0) + (order - x) * value[i]) / (order - 1);
      }
    }
  }
};

}  // namespace plait::particles::detail
