// SPDX-License-Identifier: Apache-2.0
#include "sph/smoothing_kernel.hpp"

#include <algorithm>

namespace sph {

KernelValue kernel_at(KernelKind kind, double q) {
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
