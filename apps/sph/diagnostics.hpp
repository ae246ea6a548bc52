// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sph/gas.hpp"

namespace sph {

/// What the laws of motion keep; sums over particles, which add up over ranks.
struct Totals {
  double mass = 0;
  double kinetic = 0;
  double thermal = 0;
  double potential = 0;  ///< Of gravity, each pair once.
  Vector momentum;
  Vector angular_momentum;
  double speed_sum = 0;  ///< Of m |v|, to compare the momentum with.

  [[nodiscard]] double energy() const { return kinetic + thermal + potential; }
  Totals& operator+=(const Totals& b);
};
[[nodiscard]] Totals totals_of(const Gas& gas);

}  // namespace sph
