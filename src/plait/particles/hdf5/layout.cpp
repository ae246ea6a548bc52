// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/layout.hpp"

#include <cmath>

namespace plait::particles::hdf5 {

Units units_of_gravity(double length, double mass) {
  constexpr double gravity = 6.6743e-8;  // CODATA 2018, in cgs
  return {.length = length, .mass = mass, .time = std::sqrt(length * length * length / (gravity * mass))};
}

double conversion(const Units& from, const Units& to, const Dimension& dimension) {
  if (from == to) {
    return 1;  // without the rounding of powers
  }
  return std::pow(from.mass / to.mass, dimension.mass) * std::pow(from.length / to.length, dimension.length) *
         std::pow(from.time / to.time, dimension.time) *
         std::pow(from.temperature / to.temperature, dimension.temperature);
}

}  // namespace plait::particles::hdf5
