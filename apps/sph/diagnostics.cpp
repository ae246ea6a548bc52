// SPDX-License-Identifier: Apache-2.0
#include "sph/diagnostics.hpp"

namespace sph {

Totals totals_of(const Particles& store, const GasFields& fields) {
  Totals totals{.kept = plait::particles::conserved(
                    store, {.mass = fields.mass, .velocity = fields.velocity_now, .potential = fields.potential})};
  const auto mass = store[fields.mass];
  const auto velocity = store[fields.velocity_now];
  const auto energy = store[fields.energy_now];
  const auto kind = store[Particles::kind];
  for (std::size_t i = 0; i < store.size(); ++i) {
    totals.thermal += kind[i] == gas_kind ? mass[i] * static_cast<double>(energy[i]) : 0;
    totals.speed_sum += mass[i] * length(velocity[i]);
  }
  return totals;
}

}  // namespace sph
