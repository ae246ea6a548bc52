// SPDX-License-Identifier: Apache-2.0
#include "pic/physics.hpp"

#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace pic {

template <int D>
void Physics<D>::choose_quantum(std::uint64_t particles_max) {
  double charge_max = 0;
  for (const Species& one : species) {
    charge_max = std::max(charge_max, std::abs(one.charge));
  }
  // A rounded share must stay below 2^51, and the sum of all particles below 2^62.
  const int bits = std::min(44, 61 - static_cast<int>(std::bit_width(particles_max)));
  require(bits >= 20, fmt::format("{} particles are too many for sums in 64 bits: use fewer", particles_max));
  quantum = charge_max > 0 ? std::ldexp(charge_max, -bits) : 1;
}

template <int D>
double Physics<D>::courant_limit() const {
  double sum = 0;
  for (const double length : grid.spacing) {
    sum += 1 / (length * length);
  }
  return 1 / std::sqrt(sum);
}

template <int D>
Vector3 Physics<D>::current_factors() const {
  Vector3 factors;
  factors.fill(quantum / (time_step * grid.cell_volume()));
  for (int d = 0; d < D; ++d) {
    factors[static_cast<std::size_t>(d)] *= grid.spacing[d];
  }
  return factors;
}

template <int D>
void Physics<D>::check() const {
  grid.check();
  require(time_step > 0 && std::isfinite(time_step), fmt::format("a time step of {}: give a positive one", time_step));
  require(order == 1 || order == 2, fmt::format("shapes of order {}: there are 1 and 2", order));
  require(
      solve != Solve::electromagnetic || time_step < courant_limit(),
      fmt::format("a time step of {} is too long for the electromagnetic solver: the limit of Courant, Friedrichs and "
                  "Lewy is {:.4g} for these cells; take a shorter step or larger cells",
                  time_step,
                  courant_limit()));
  require(solve != Solve::electrostatic || time_step < 2,
          fmt::format("a time step of {} is too long: plasma oscillations are unstable from 2 on", time_step));
  for (const Species& one : species) {
    require(std::isfinite(one.charge) && one.charge != 0 && std::isfinite(one.charge_to_mass) && one.mass() > 0,
            fmt::format("species {}: charge {} and charge to mass {} make no positive mass",
                        one.name,
                        one.charge,
                        one.charge_to_mass));
  }
}

template struct Physics<2>;
template struct Physics<3>;

}  // namespace pic
