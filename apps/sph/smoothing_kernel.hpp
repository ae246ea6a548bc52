// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sph {

/// Smoothing kernels W(r, H) = w(r/H) / H^3, zero beyond the support H.
///
/// Programs and files use the smoothing length h = H / support_ratio, twice the standard deviation of W (Dehnen and
/// Aly, 2012): the same h is the same resolution with all kernels.
enum class KernelKind : std::uint8_t { cubic_spline, wendland_c2 };

/// H / h in three dimensions (Dehnen and Aly, 2012, table 1).
[[nodiscard]] constexpr float support_ratio(KernelKind kind) {
  return kind == KernelKind::cubic_spline ? 1.825742F : 1.936492F;
}

/// The number of particles within H if smoothing lengths are `eta` mean distances.
[[nodiscard]] inline double neighbours_at(KernelKind kind, double eta) {
  return 4.0 / 3.0 * M_PI * std::pow(support_ratio(kind) * eta, 3);
}

/// w(q) and dw/dq for 0 <= q; the scalar form of the vector loops.
struct KernelValue {
  double w = 0;
  double slope = 0;
};
[[nodiscard]] inline KernelValue kernel_at(KernelKind kind, double q) {
  const double outer = std::max(1 - q, 0.0);
  if (kind == KernelKind::wendland_c2) {
    const double norm = 21 / (2 * M_PI);
    return {norm * outer * outer * outer * outer * (1 + 4 * q), -20 * norm * outer * outer * outer * q};
  }
  const double inner = std::max(0.5 - q, 0.0);
  const double norm = 8 / M_PI;
  return {norm * (2 * outer * outer * outer - 8 * inner * inner * inner),
          norm * (24 * inner * inner - 6 * outer * outer)};
}

}  // namespace sph
