// SPDX-License-Identifier: Apache-2.0
#include "dns/physics.hpp"

#include <numbers>

namespace dns {

double courant_limit(const Scheme& scheme) {
  // The largest wave number along an axis, times h: pi at half the points.
  double k_h = std::numbers::pi;
  if (scheme.dealiasing == Dealiasing::truncation) {
    k_h *= 2.0 / 3;
  } else if (scheme.dealiasing != Dealiasing::none) {
    k_h *= 2 * std::numbers::sqrt2 / 3;
  }
  return (scheme.integrator == Integrator::rk4 ? 2 * std::numbers::sqrt2 : 1) / k_h;
}

}  // namespace dns
