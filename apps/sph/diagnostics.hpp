// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "sph/gas.hpp"

namespace sph {

/// What the laws of motion keep; sums over particles, which add up over ranks.
struct Totals {
  plait::particles::Conserved kept;
  double thermal = 0;
  double speed_sum = 0;  ///< Of m |v|, to compare the momentum with.

  [[nodiscard]] double energy() const { return kept.kinetic + thermal + kept.potential; }
};
static_assert(std::is_trivially_copyable_v<Totals>, "travels in messages");
[[nodiscard]] Totals totals_of(const Particles& store, const GasFields& fields);

}  // namespace sph
