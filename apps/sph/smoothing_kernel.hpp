// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sph {

/// Smoothing kernels W(r, H) = norm w(r/H) / H^3, zero beyond the support H (Dehnen and Aly, 2012, table 1).
///
/// Programs and files use the smoothing length h = H / support_ratio, twice the standard deviation of W: the same h is
/// the same resolution with all kernels. Wendland's kernels do not let particles pair, whatever the number of
/// neighbours.
enum class KernelKind : std::uint8_t { cubic_spline, wendland_c2, quintic_spline, wendland_c4, wendland_c6 };

/// What differs between kernels, except for their shapes; in three dimensions.
struct KernelTraits {
  KernelKind kind;
  std::string_view name;  ///< As users and files spell it.
  float support_ratio;    ///< H / h.
  float norm;
};
/// By the number of the kind.
inline constexpr std::array kernel_traits{
    KernelTraits{KernelKind::cubic_spline, "cubic-spline", 1.825742F, 2.5464791F},      // 8/pi
    KernelTraits{KernelKind::wendland_c2, "wendland-c2", 1.936492F, 3.3422538F},        // 21/(2 pi)
    KernelTraits{KernelKind::quintic_spline, "quintic-spline", 2.195775F, 17.403593F},  // 2187/(40 pi)
    KernelTraits{KernelKind::wendland_c4, "wendland-c4", 2.207940F, 4.9238560F},        // 495/(32 pi)
    KernelTraits{KernelKind::wendland_c6, "wendland-c6", 2.449490F, 6.7889530F},        // 1365/(64 pi)
};
[[nodiscard]] constexpr const KernelTraits& traits_of(KernelKind kind) {
  return kernel_traits[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr float support_ratio(KernelKind kind) {
  return traits_of(kind).support_ratio;
}

/// The number of particles within H if smoothing lengths are `eta` mean distances.
[[nodiscard]] inline double neighbours_at(KernelKind kind, double eta) {
  return 4.0 / 3.0 * M_PI * std::pow(support_ratio(kind) * eta, 3);
}

/// w(q) and dw/dq for 0 <= q, with the norm; the scalar form of the vector loops.
struct KernelValue {
  double w = 0;
  double slope = 0;
};
[[nodiscard]] inline KernelValue kernel_at(KernelKind kind, double q) {
  const double norm = traits_of(kind).norm;
  const double outer = std::max(1 - q, 0.0);
  const auto valued = [norm](double w, double slope) { return KernelValue{norm * w, norm * slope}; };
  switch (kind) {
    case KernelKind::cubic_spline: {
      const double inner = std::max(0.5 - q, 0.0);
      return valued(2 * std::pow(outer, 3) - 8 * std::pow(inner, 3), 24 * inner * inner - 6 * outer * outer);
    }
    case KernelKind::quintic_spline: {
      const double middle = std::max(2.0 / 3 - q, 0.0);
      const double inner = std::max(1.0 / 3 - q, 0.0);
      return valued(std::pow(outer, 5) - 6 * std::pow(middle, 5) + 15 * std::pow(inner, 5),
                    -5 * std::pow(outer, 4) + 30 * std::pow(middle, 4) - 75 * std::pow(inner, 4));
    }
    case KernelKind::wendland_c2:
      return valued(std::pow(outer, 4) * (1 + 4 * q), -20 * q * std::pow(outer, 3));
    case KernelKind::wendland_c4:
      return valued(std::pow(outer, 6) * (1 + 6 * q + 35.0 / 3 * q * q),
                    -56.0 / 3 * q * std::pow(outer, 5) * (1 + 5 * q));
    case KernelKind::wendland_c6:
      return valued(std::pow(outer, 8) * (1 + 8 * q + 25 * q * q + 32 * q * q * q),
                    -22 * q * std::pow(outer, 7) * (1 + 7 * q + 16 * q * q));
  }
  return {};
}

}  // namespace sph
